import { setImmediate } from 'node:timers/promises';
import { formatBytes } from '../../terminal/format.ts';
import { cacheBytes } from '../device/cache-bytes.ts';
import { createDeviceWeights, type DeviceWeights, weightsRoom } from '../device/device-weights.ts';
import type { LoadedPart } from '../device/loaded-part.ts';
import { ringRecorder } from '../device/ring-recorder.ts';
import { createWindowRunner, type Passage, type WindowRunner } from '../device/window-runner.ts';
import { activationBytes, packActivations, unpackActivations } from '../wire/activations.ts';
import { clock } from '../wire/clock.ts';
import { type ActivationFrame, FrameError, HEADER_BYTES, MOST_MESSAGE_BYTES } from '../wire/frame.ts';
import type { KeyPair } from '../wire/keys.ts';
import type { Assignment, WeightsReport, WorkerMessage } from '../wire/message.ts';
import type { RingSpan } from '../wire/span.ts';
import { createTransport } from '../wire/transport.ts';
import { assignments, type RingSettings } from './assignments.ts';
import { createInquiries, type DeviceFacts, type DeviceSpans, type MeasuredRingLink } from './inquiries.ts';
import { createMember, type Member, type MemberAddress } from './member.ts';
import { createRingRequest, type PendingToken, type RingRequest } from './request.ts';
import { DeviceLostError, RingChangedError, RingError } from './ring-error.ts';
import type { RingLayout } from './ring-layout.ts';
import { waitFor } from './wait-for.ts';
import type { RingWindow } from './windows.ts';

export interface HeadOptions {
  /** Of this device in the cluster. */
  readonly name: string;
  readonly loaded: LoadedPart;
  readonly keys: KeyPair | undefined;
  readonly members: readonly MemberAddress[];
  readonly settings: RingSettings;
  /** Bytes that weights and KV caches may take on this device. */
  readonly memory: number;
  /** Seconds that what it sends waits before; 0 unless given. */
  readonly linkDelay?: number;
  readonly log: (line: string) => void;
}

export interface RingHead {
  /** Names of the devices that are there and may be used, the head first, in ring order. */
  present(): string[];
  /** Waits until all members are there, or rejects with a RingError for the first that isn't. */
  gather(): Promise<void>;
  /** Puts the ring together; whatever was under way is lost. */
  assemble(layout: RingLayout): Promise<void>;
  /** What devices do with their weights, since it was put together; those are missing that do nothing. */
  readonly weights: ReadonlyMap<string, WeightsReport>;
  /** Whether it is put together and whole. */
  readonly whole: boolean;
  /** Devices that came back since it was put together. */
  readonly returned: readonly string[];
  /** Its KV caches hold `capacity` tokens. */
  request(capacity: number): RingRequest;
  measure(): Promise<MeasuredRingLink[]>;
  /** What members know or find out of themselves: facts as in a cluster file, JSON, and bytes that they offer. */
  profiles(): Promise<DeviceFacts[]>;
  collectSpans(): Promise<DeviceSpans[]>;
  close(): Promise<void>;
}

/** Seconds for members to be there; to load their layers; to connect to each other. */
const GATHER = 5;
const PREPARE = 60;
const LINK = 10;

/** The ring as it is put together. */
interface Assembly {
  readonly epoch: number;
  readonly windows: readonly RingWindow[];
  readonly devices: readonly string[];
  readonly assigned: ReadonlyMap<string, Assignment>;
  readonly runner: WindowRunner;
  /** Of the head itself, and what it and the others said of theirs. */
  readonly ownWeights: DeviceWeights | undefined;
  readonly weights: Map<string, WeightsReport>;
  readonly pending: Map<number, PendingToken>;
  /** What members are waited for; called with each message of this epoch, and with what ends all waits. */
  onMessage: (from: string, message: WorkerMessage) => void;
  onBroken: (error: Error) => void;
  broken: Error | undefined;
  requests: number;
}

export function startHead(options: HeadOptions): RingHead {
  const { name: head, loaded, settings, log } = options;
  const { part, identity } = loaded;
  const { hiddenSize } = part.model;
  const transport = createTransport(options.keys, log, options.linkDelay);
  const mostBytes = HEADER_BYTES + Math.max(MOST_MESSAGE_BYTES, activationBytes(hiddenSize * settings.chunk, 'F32'));
  const ownSpans: RingSpan[] = [];
  const excluded = new Set<string>();
  const returned = new Set<string>();
  let assembly: Assembly | undefined;

  const breakUp = (error: Error): void => {
    if (assembly === undefined || assembly.broken !== undefined) return;
    assembly.broken = error;
    for (const { reject } of assembly.pending.values()) reject(error);
    assembly.pending.clear();
    assembly.onBroken(error);
  };

  const onMessage = (from: string, message: WorkerMessage): void => {
    if ('epoch' in message && message.epoch !== assembly?.epoch) return;
    inquiries.hear(from, message);
    if (!('epoch' in message) || assembly === undefined) return;
    if (message.kind === 'failed') breakUp(new RingError(from, message.reason));
    else if (message.kind === 'lost') {
      // Where the device itself has gone its own connection says so; else it is there and can't be reached.
      const reason = `the link from ${from} to it is gone (${message.reason})`;
      excluded.add(message.device);
      breakUp(new DeviceLostError(message.device, reason));
    } else assembly.onMessage(from, message);
  };

  const members: readonly Member[] = options.members.map((address) =>
    createMember({
      ...address,
      transport,
      head,
      model: identity,
      samples: loaded.samples,
      mostBytes,
      onPresent() {
        if (assembly === undefined) return;
        log(`${address.name} is back`);
        excluded.delete(address.name);
        returned.add(address.name);
      },
      onGone(reason) {
        log(`lost ${address.name}: ${reason}`);
        returned.delete(address.name);
        if (assembly?.devices.includes(address.name)) breakUp(new DeviceLostError(address.name, reason));
      },
      onMessage: (message) => onMessage(address.name, message),
      onActivations: (frame) => onActivations(address.name, frame),
    }),
  );
  const inquiries = createInquiries({ head, members, ownSpans });
  const memberOf = (device: string): Member => members.find(({ name }) => name === device) as Member;

  const onActivations = (from: string, frame: ActivationFrame): void => {
    const ring = assembly;
    if (ring === undefined || ring.broken !== undefined || frame.epoch !== ring.epoch) return;
    if (ring.windows[frame.window - 1]?.device !== from)
      throw new FrameError(`activations for window ${frame.window}, which ${from} doesn't send here`);
    if (frame.window === ring.windows.length) takeOutput(ring, frame, from);
    else ring.runner.accept(frame, from);
  };

  /** What comes out of the last window: nothing but a chunk's end, or a token's residual stream. */
  const takeOutput = (ring: Assembly, frame: ActivationFrame, from: string): void => {
    const { request, rows, format, payload, sentAt } = frame;
    if (format !== settings.activations || payload.length !== activationBytes(rows * hiddenSize, format))
      throw new FrameError(`${payload.length} bytes of ${format} for ${rows} rows`);
    const waiting = ring.pending.get(request);
    if (waiting === undefined) return;
    record({ kind: 'receive', sender: from, bytes: payload.length, request, sentAt, receivedAt: clock() });
    waiting.onChunk();
    if (rows === 0) return;
    ring.runner
      .inTurn(async () => {
        await ring.ownWeights?.arrival('output');
        unpackActivations(payload, format, part.stream(1));
        waiting.resolve(output(ring, request));
        if (ring.ownWeights === undefined) return;
        await setImmediate(); // the next token is chosen before anything else is done
        ring.ownWeights.after('output');
      })
      .catch(waiting.reject);
  };

  const record = (span: RingSpan): void => {
    if (settings.trace) ownSpans.push(span);
  };
  const output = (ring: Assembly, request: number): Float32Array => {
    const start = clock();
    const logits = part.logits().slice();
    const end = clock();
    const { layers } = part.model;
    const stall = ring.ownWeights?.ran('output') ?? 0;
    const between = start + stall;
    if (stall > 0)
      record({
        kind: 'weights',
        lane: 'cpu',
        cause: 'disk',
        name: 'page faults of output',
        start,
        end: between,
        args: {},
      });
    record({ kind: 'compute', from: layers, to: layers, tokens: 1, request, start: between, end });
    return logits;
  };

  const ownWeights = (own: Assignment): DeviceWeights | undefined => {
    const withWindow = own.windows.some(({ index, from, to }) => index + 1 === own.windowCount && to > from);
    return createDeviceWeights({
      loaded,
      windows: own.windows,
      output: withWindow ? 'with-last-window' : 'own-turn',
      requested: own.weights,
      room: weightsRoom(own, loaded, options.memory),
      recorder: settings.trace ? ringRecorder(record) : undefined,
    });
  };

  const ownRunner = (assignment: Assignment, weights: DeviceWeights | undefined): WindowRunner =>
    createWindowRunner({
      ...assignment,
      part,
      weights,
      senderOf: (window) => assignment.sources.find((source) => source.window === window)?.from,
      forward(frame, next) {
        if (next.kind === 'device') return memberOf(next.name).send(frame);
        // The head's own window was the last: the token is where the output is computed.
        const waiting = assembly?.pending.get(frame.request);
        waiting?.onChunk();
        if (frame.rows === 0) return;
        unpackActivations(frame.payload, frame.format, part.stream(1));
        if (assembly !== undefined) waiting?.resolve(output(assembly, frame.request));
      },
      onFailed: (error) => breakUp(new RingError(head, error.message)),
      record,
    });

  /** Waits until all of `devices` have said `kind`. */
  const all = (
    ring: Assembly,
    devices: readonly string[],
    kind: WorkerMessage['kind'],
    seconds: number,
  ): Promise<void> => {
    const missing = new Set(devices);
    const said = new Promise<void>((resolve, reject) => {
      if (ring.broken !== undefined) reject(ring.broken);
      if (missing.size === 0) resolve();
      ring.onBroken = reject;
      ring.onMessage = (from, message) => {
        if (message.kind === 'prepared' && message.weights !== undefined) ring.weights.set(from, message.weights);
        if (message.kind === kind) missing.delete(from);
        if (missing.size === 0) resolve();
      };
    });
    return waitFor(said, seconds, () => {
      const [late = head] = missing;
      return new DeviceLostError(late, `not ${kind} within ${seconds} s`);
    });
  };

  const present = (): string[] => [
    head,
    ...members.filter(({ name, welcome }) => welcome !== undefined && !excluded.has(name)).map(({ name }) => name),
  ];

  const addressOf = (device: string) => {
    const { address, publicKey } = options.members.find(({ name }) => name === device) as MemberAddress;
    const ringPort = memberOf(device).welcome?.ringPort ?? 0;
    return { address: address.replace(/:[^:]*$/, `:${ringPort}`), publicKey };
  };

  /** Embeds tokens, and has the first window or its device go on with them. */
  const enter = (
    ring: Assembly,
    { tokens, ...passage }: Omit<Passage, 'tokens'> & { readonly tokens: readonly number[] },
  ) =>
    ring.runner.inTurn(async () => {
      if (ring.broken !== undefined) return;
      part.embed(tokens);
      const all = { ...passage, tokens: tokens.length };
      const [first] = ring.windows;
      if (first === undefined || first.device === head) return ring.runner.run(all);
      const format = settings.activations;
      const payload = packActivations(part.stream(tokens.length), format);
      const { epoch } = ring;
      memberOf(first.device).send({ ...all, kind: 'activations', epoch, format, sentAt: clock(), payload });
    });

  const dissolve = async (): Promise<void> => {
    breakUp(new RingChangedError('the ring is put together anew'));
    await assembly?.runner.end();
    assembly = undefined;
  };

  return {
    present,
    get whole() {
      return assembly !== undefined && assembly.broken === undefined;
    },
    get returned() {
      return [...returned];
    },
    async gather() {
      const end = clock() + GATHER;
      for (;;) {
        const absent = members.find(({ welcome }) => welcome === undefined);
        if (absent === undefined) return;
        if (clock() > end || absent.unfit) throw new RingError(absent.name, absent.problem);
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    },
    get weights() {
      return assembly?.weights ?? new Map();
    },
    async assemble(layout) {
      const { windows } = layout;
      await dissolve();
      const absent = windows.find(({ device }) => !present().includes(device));
      if (absent !== undefined) {
        const problem = members.find(({ name }) => name === absent.device)?.problem;
        throw new DeviceLostError(absent.device, problem ?? 'is no device of the cluster');
      }
      const assigned = assignments(layout, head, addressOf, settings);
      const own = assigned.get(head) as Assignment;
      checkMemory(own, options);
      for (const { from, to } of own.windows) part.load(from, to);
      const weights = ownWeights(own);
      const ring: Assembly = {
        epoch: own.epoch,
        windows,
        assigned,
        devices: [...assigned.keys()].filter((device) => device !== head),
        runner: ownRunner(own, weights),
        ownWeights: weights,
        weights: new Map(weights === undefined ? [] : [[head, { policy: weights.policy, bytes: weights.bytes }]]),
        pending: new Map(),
        onMessage() {},
        onBroken() {},
        broken: undefined,
        requests: 0,
      };
      assembly = ring;
      returned.clear();
      try {
        const prepared = all(ring, ring.devices, 'prepared', PREPARE);
        for (const device of ring.devices)
          memberOf(device).tell({ kind: 'prepare', assignment: assigned.get(device) as Assignment });
        await prepared;
        const linked = all(ring, ring.devices, 'linked', LINK);
        for (const device of ring.devices) memberOf(device).tell({ kind: 'link', epoch: ring.epoch });
        await linked;
      } catch (error) {
        if (error instanceof DeviceLostError) excluded.add(error.device);
        breakUp(error as Error);
        throw error;
      }
    },
    request(capacity) {
      const ring = assembly as Assembly;
      const id = ring.requests++;
      const { windows, pending, runner } = ring;
      return createRingRequest({
        id,
        chunk: settings.chunk,
        // More chunks at once than there are windows would only wait.
        most: windows.length + 1,
        pending,
        broken: () => ring.broken,
        enter: (chunk) => enter(ring, { ...chunk, request: id, window: 0, capacity }),
        onFailed: (error) => breakUp(new RingError(head, error.message)),
        late: (seconds) => new RingError(head, `nothing came back for ${seconds} s`),
        free() {
          if (ring !== assembly) return;
          runner.free(id);
          for (const device of ring.devices) memberOf(device).tell({ kind: 'free', request: id });
        },
      });
    },
    measure() {
      const { epoch, devices } = assembly as Assembly;
      return inquiries.measure(epoch, devices);
    },
    profiles: inquiries.profiles,
    collectSpans: inquiries.collectSpans,
    async close() {
      await dissolve();
      for (const member of members) {
        if (member.welcome !== undefined) member.tell({ kind: 'bye' });
        member.close();
      }
      transport.close();
    },
  };
}

function checkMemory({ windows, context, requests, kvCache }: Assignment, { name, loaded, memory }: HeadOptions): void {
  const layers = windows.reduce((sum, { from, to }) => sum + to - from, 0);
  const needed = cacheBytes(loaded.part.model, layers, context * requests, kvCache);
  if (needed <= memory) return;
  const [needs, has] = [needed, memory].map(formatBytes);
  throw new RingError(name, `${layers} layers need ${needs} of KV cache; ${has} are there: use a shorter context`);
}
