import { formatBytes } from '../../terminal/format.ts';
import { type Connection, connect } from '../wire/connection.ts';
import { type ActivationFrame, type Frame, FrameError } from '../wire/frame.ts';
import { createProbe, probeLink } from '../wire/link-probe.ts';
import { type Assignment, FROM_HEAD, type HeadMessage, type WorkerMessage } from '../wire/message.ts';
import { messageFrame } from '../wire/message-frame.ts';
import type { RingSpan } from '../wire/span.ts';
import type { Transport } from '../wire/transport.ts';
import { cacheBytes } from './cache-bytes.ts';
import { createDeviceWeights, type DeviceWeights, describeWeights, weightsRoom } from './device-weights.ts';
import type { LoadedPart } from './loaded-part.ts';
import { ringRecorder } from './ring-recorder.ts';
import { createWindowRunner, type WindowRunner } from './window-runner.ts';

/** A worker's dealings with one head, from its hello until it goes. */
export interface WorkerSession {
  /** @throws FrameError for what this head could not mean */
  onMessage(message: Exclude<HeadMessage, { readonly kind: 'hello' | 'clock' }>): void;
  onActivations(frame: ActivationFrame, link: string): void;
  /** Whether a device with this key sends results here under the present plan. */
  expects(publicKey: string): boolean;
  /** Whether a link of this name comes from a device of the present plan. */
  hears(link: string): boolean;
  /** Frees all memory that requests took, and closes links to other devices. */
  end(): Promise<void>;
}

export interface WorkerSessionOptions {
  readonly transport: Transport;
  readonly loaded: LoadedPart;
  /** Bytes that weights and caches may take. */
  readonly memory: number;
  readonly mostBytes: number;
  /** What the head calls itself on its connection: frames with it as link come from the head. */
  readonly headLink: string;
  /** This device as in a cluster file, JSON. */
  readonly profile: () => Promise<string>;
  readonly sendToHead: (frame: Frame) => Promise<void>;
  readonly log: (line: string) => void;
}

/** Spans that are sent in one message; what is beyond waits for the next report. */
const SPANS_AT_ONCE = 10_000;
const MOST_SPANS = 1_000_000;

/** The part of a plan that a worker carries out at present. */
interface Duty {
  readonly assignment: Assignment;
  readonly runner: WindowRunner;
  readonly weights: DeviceWeights | undefined;
  readonly links: Map<string, { readonly connection: Connection; readonly probe: ReturnType<typeof createProbe> }>;
}

export function createWorkerSession(options: WorkerSessionOptions): WorkerSession {
  const { transport, loaded, memory, mostBytes, headLink, log } = options;
  const spans: RingSpan[] = [];
  let duty: Duty | undefined;

  const tell = (message: WorkerMessage): void => {
    // Whether the head is still there is found out by the worker's own ticks.
    options.sendToHead(messageFrame(message)).catch(() => {});
  };
  const fail = (epoch: number, reason: string): void => {
    log(reason);
    tell({ kind: 'failed', epoch, reason });
  };
  const record = (span: RingSpan): void => {
    if (spans.length < MOST_SPANS) spans.push(span);
  };

  const release = async (): Promise<void> => {
    const old = duty;
    duty = undefined;
    for (const { connection } of old?.links.values() ?? []) connection.close();
    await old?.runner.end();
  };

  const prepare = async (assignment: Assignment): Promise<void> => {
    const { epoch, windows } = assignment;
    await release();
    const problem = misfit(assignment, loaded, memory);
    if (problem !== undefined) return fail(epoch, problem);
    for (const { from, to } of windows) loaded.part.load(from, to);
    const weights = createDeviceWeights({
      loaded,
      windows,
      output: 'elsewhere',
      requested: assignment.weights,
      room: weightsRoom(assignment, loaded, memory),
      recorder: assignment.trace ? ringRecorder(record) : undefined,
    });
    if (weights !== undefined) log(describeWeights(weights));
    const names = new Map(assignment.predecessors.map(({ name, linkName }) => [linkName, name]));
    const sources = new Map(assignment.sources.map(({ window, from }) => [window, from]));
    const runner = createWindowRunner({
      ...assignment,
      part: loaded.part,
      senderOf: (window) => sources.get(window),
      forward(frame, next) {
        const link = next.kind === 'head' ? undefined : duty?.links.get(next.name)?.connection;
        const sent = next.kind === 'head' ? options.sendToHead(frame) : link?.send(frame);
        // A link that is cut says so by itself (onGone); a head that is gone, the worker's ticks.
        sent?.catch(() => {});
      },
      onFailed: (error) => fail(epoch, error.message),
      record: assignment.trace ? record : () => {},
      weights,
    });
    senderOf = (link) => (link === headLink ? FROM_HEAD : names.get(link));
    duty = { assignment, runner, weights, links: new Map() };
    tell({ kind: 'prepared', epoch, weights: weights && { policy: weights.policy, bytes: weights.bytes } });
  };
  let senderOf: (link: string) => string | undefined = () => undefined;

  const link = ({ assignment, links }: Duty): void => {
    const { epoch, successors } = assignment;
    const waiting = new Set(successors.map(({ name }) => name));
    if (waiting.size === 0) tell({ kind: 'linked', epoch });
    for (const { name, address, publicKey, linkName } of successors) {
      const probe = createProbe((frame) => connection.send(frame));
      const connection = connect({
        transport,
        address,
        publicKey,
        name: linkName,
        mostBytes,
        onReady() {
          waiting.delete(name);
          if (waiting.size === 0) tell({ kind: 'linked', epoch });
        },
        onFrame(frame) {
          if (frame.kind !== 'echo') throw new FrameError(`a frame of kind ${frame.kind} where only echoes belong`);
          probe.onEcho(frame);
        },
        onGone(reason) {
          log(`the link to ${name} is gone: ${reason}`);
          tell({ kind: 'lost', epoch, device: name, reason });
        },
      });
      links.set(name, { connection, probe });
    }
  };

  const measure = async ({ assignment: { epoch }, links }: Duty, bytes: number): Promise<void> => {
    const measured = [];
    for (const [name, { probe }] of links) measured.push(await probeLink(name, probe.probe, bytes));
    tell({ kind: 'measured', epoch, links: measured });
  };

  return {
    expects: (publicKey) => duty?.assignment.predecessors.some((one) => one.publicKey === publicKey) ?? false,
    hears: (link) => senderOf(link) !== undefined,
    onMessage(message) {
      switch (message.kind) {
        case 'prepare': {
          const { epoch } = message.assignment;
          prepare(message.assignment).catch((error: Error) => fail(epoch, error.message));
          return;
        }
        case 'link':
          if (duty?.assignment.epoch === message.epoch) link(duty);
          return;
        case 'measure': {
          const { epoch } = message;
          if (duty?.assignment.epoch === epoch)
            measure(duty, message.bytes).catch((error: Error) => fail(epoch, error.message));
          return;
        }
        case 'free':
          duty?.runner.free(message.request);
          return;
        case 'report':
          duty?.weights?.collect();
          while (spans.length > 0) tell({ kind: 'spans', spans: spans.splice(0, SPANS_AT_ONCE) });
          tell({ kind: 'spans', spans: [] }); // that was all
          return;
        case 'profile':
          options.profile().then(
            (facts) => tell({ kind: 'profiled', facts }),
            (error: Error) => tell({ kind: 'unprofiled', reason: error.message.slice(0, 2000) }),
          );
          return;
        case 'bye':
          return;
      }
    },
    onActivations(frame, from) {
      // What an earlier plan had under way.
      if (frame.epoch !== duty?.assignment.epoch) return;
      const sender = senderOf(from);
      if (sender === undefined) throw new FrameError('activations from a device that the plan does not have here');
      duty.runner.accept(frame, sender);
    },
    end: release,
  };
}

/** Why this device can't do its part, in a line; undefined where it can. */
function misfit(assignment: Assignment, { held, part }: LoadedPart, memory: number): string | undefined {
  const { windows, context, requests, kvCache } = assignment;
  const wanted = windows.flatMap(({ from, to }) => Array.from({ length: to - from }, (_, index) => from + index));
  const missing = wanted.find((layer) => !held.layers.includes(layer));
  if (missing !== undefined)
    return `its file has no layer ${missing}; give it the part that hearth split writes for this plan`;
  if (assignment.chunk > part.mostTokens) return `${assignment.chunk} tokens at once; it takes ${part.mostTokens}`;
  const needed = cacheBytes(part.model, wanted.length, context * requests, kvCache);
  if (needed <= memory) return undefined;
  const [needs, has] = [needed, memory].map(formatBytes);
  return `${wanted.length} layers need ${needs} of KV cache for ${requests} × ${context} tokens; ${has} are there: use a shorter context or give it fewer layers`;
}
