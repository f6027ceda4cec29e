import type { ExpertReads } from '../../experts/expert-reads.ts';
import { type ActivationFrame, type ExpertsFrame, type Frame, MOST_PAGES, type SumsFrame } from '../wire/frame.ts';
import { FrameError } from '../wire/frame-error.ts';
import { type Assignment, FROM_HEAD, type MeasuredLink, type WeightsReport } from '../wire/message.ts';
import type { RingSpan } from '../wire/span.ts';
import type { Transport } from '../wire/transport.ts';
import { cutMisfit, loadCutLayers, slicesOf, withoutWindows, withSlices } from './cut-layers.ts';
import { loadDevicePart, type RingGpu } from './device-part.ts';
import { createDeviceWeights } from './device-weights.ts';
import { createExpertHolder, holdExperts } from './held-experts.ts';
import type { LoadedPart } from './loaded-part.ts';
import { layersOf, missingCacheMemory, pageCount, plannedBytes, weightsRoom } from './memory.ts';
import { openSuccessorLinks, type SuccessorLinks } from './successor-links.ts';
import { createWindowRunner } from './window-runner.ts';

/** A worker's share of a plan while it carries it out: its weights, its windows and its links to other devices. */
export interface CarriedAssignment {
  readonly epoch: number;
  /** `undefined`: weights are not managed. */
  readonly weights: WeightsReport | undefined;
  /** Bytes that can't be given back (plannedBytes). */
  readonly plannedBytes: number;
  /** Connects to the devices that results go to. */
  link(): void;
  /** Latency and bandwidth of these links. @param bytes of the longest train of probes */
  measure(bytes: number): Promise<MeasuredLink[]>;
  /** Runs a window. @throws FrameError for a frame that does not fit the plan */
  accept(frame: ActivationFrame, link: string): void;
  /** Takes sums of another device. @throws FrameError for a frame that does not fit the plan */
  acceptSums(frame: SumsFrame, link: string): void;
  /** Multiplies experts for the head. @throws FrameError for a frame that does not fit the plan */
  acceptExperts(frame: ExpertsFrame): void;
  /** Whether a device with this key sends results here. */
  expects(publicKey: string): boolean;
  /** Whether the connection named `link` belongs to the head or a device of the plan. */
  receivesFrom(link: string): boolean;
  /** The device of the plan whose connection is named `link`, if it is one. */
  predecessor(link: string): string | undefined;
  /** Experts that were needed and read; `undefined` if they are not cached. */
  readonly expertReads: ExpertReads | undefined;
  /** Records the spans of weights so far. */
  collect(): void;
  /** Frees all memory of requests and closes the links. */
  end(): Promise<void>;
}

export interface CarriedAssignmentOptions {
  readonly assignment: Assignment;
  readonly transport: Transport;
  readonly loaded: LoadedPart;
  readonly gpu: RingGpu | undefined;
  /** Memory for weights and caches, bytes. */
  readonly memory: number;
  /** The longest frame, bytes. */
  readonly mostBytes: number;
  /** The name of the head's connection. */
  readonly headLink: string;
  readonly sendToHead: (frame: Frame) => void;
  readonly onLinked: () => void;
  readonly onLost: (device: string, reason: string) => void;
  readonly onFailed: (error: Error) => void;
  /** Called when reads of weights hang, with the reason. */
  readonly onStill: (reason: string) => void;
  /** Called when they have ended after all. */
  readonly onMoved: () => void;
  readonly record: (span: RingSpan) => void;
  /** Whether the assignment is still wanted while it is being loaded. */
  readonly wanted: () => boolean;
}

/** Loads the layers of an assignment and prepares to run them. @throws Error with a reason if this device can't */
export async function carryOut(options: CarriedAssignmentOptions): Promise<CarriedAssignment> {
  const { assignment, transport, gpu, memory, mostBytes, sendToHead, wanted } = options;
  const { epoch, windows, predecessors, cut } = assignment;
  const unfit = cut && cutMisfit(assignment, cut, options.loaded.part.model.layers);
  if (unfit !== undefined) throw new Error(unfit);
  const slices = cut && slicesOf(options.loaded, cut);
  const loaded = slices === undefined ? options.loaded : withSlices(options.loaded, slices);
  const problem = misfit(assignment, loaded, memory);
  if (problem !== undefined) throw new Error(problem);
  const record = assignment.trace ? options.record : undefined;
  const room = weightsRoom(assignment, loaded, memory);
  let links: SuccessorLinks | undefined;
  const send = (device: string, frame: SumsFrame): void =>
    device === FROM_HEAD ? sendToHead(frame) : links?.send(device, frame);
  const cutLayers =
    cut &&
    (await loadCutLayers({
      ...assignment,
      ...{ loaded: options.loaded, cut, slices: slices ?? [], room, send, record: record ?? (() => {}) },
    }));
  const device = cutLayers
    ? { part: cutLayers.part, experts: undefined, streamed: undefined, close: cutLayers.close }
    : await loadDevicePart({
        ...{ loaded, gpu, windows, context: assignment.context, outer: [], wanted, room, record },
        partition: assignment.partition,
        streamed: assignment.streamed,
        experts: assignment.weights.experts,
        hasOutput: false,
      });
  const weights = createDeviceWeights({
    loaded,
    windows,
    isCut: cut !== undefined,
    output: 'elsewhere',
    requested: assignment.weights,
    room,
    record,
    onStill: options.onStill,
    onMoved: options.onMoved,
  });
  const { held } = assignment;
  const experts = held && (await holdExperts(loaded, held, room));
  const holder =
    held &&
    createExpertHolder({
      ...assignment,
      ...{ loaded, held, send: sendToHead, onFailed: options.onFailed, record: record ?? (() => {}) },
    });
  const senders = new Map(predecessors.map(({ name, linkName }) => [linkName, name]));
  senders.set(options.headLink, FROM_HEAD);
  const sources = new Map(assignment.sources.map(({ window, from }) => [window, from]));
  const runner = createWindowRunner({
    ...assignment,
    part: device.part,
    senderOf: (window) => sources.get(window),
    begins: cutLayers?.begins ?? device.streamed?.begins,
    forward(frame, next) {
      if (cut !== undefined) return; // the head has the last sum
      if (next.kind === 'head') sendToHead(frame);
      else links?.send(next.name, frame);
    },
    onFailed: options.onFailed,
    record: cut === undefined && device.streamed === undefined ? (record ?? (() => {})) : withoutWindows(record),
    weights,
  });
  return {
    epoch,
    weights: device.experts?.report ?? weights?.report,
    plannedBytes: plannedBytes(assignment, loaded, {
      weights: weights?.report,
      experts: device.experts ?? cutLayers ?? device.streamed,
    }),
    get expertReads() {
      return device.experts?.reads;
    },
    link() {
      const { onLinked, onLost } = options;
      if (links !== undefined) throw new FrameError('a second request to link');
      links = openSuccessorLinks({ transport, successors: assignment.successors, mostBytes, onLinked, onLost });
    },
    measure: async (bytes) => (await links?.measure(bytes)) ?? [],
    accept(frame, link) {
      const sender = senders.get(link);
      if (sender === undefined) throw new FrameError('activations from a device that is not a predecessor in the plan');
      runner.accept(frame, sender);
    },
    acceptSums(frame, link) {
      const sender = senders.get(link);
      if (cutLayers === undefined || sender === undefined)
        throw new FrameError('sums of a device that sends none here in the plan');
      cutLayers.take(frame, sender);
    },
    acceptExperts(frame) {
      if (holder === undefined) throw new FrameError('a request for experts, of which the plan divides none');
      holder.accept(frame);
    },
    expects: (publicKey) => predecessors.some((one) => one.publicKey === publicKey),
    receivesFrom: (link) => senders.has(link),
    predecessor: (link) => predecessors.find(({ linkName }) => linkName === link)?.name,
    collect: () => weights?.collect(),
    async end() {
      links?.close();
      holder?.end();
      const stopping = runner.end();
      cutLayers?.end();
      await stopping;
      experts?.close();
      device.close();
    },
  };
}

/** Why a device can't carry out an assignment, in one line; `undefined` if it can. */
export function misfit(assignment: Assignment, { held, part }: LoadedPart, memory: number): string | undefined {
  const { windows, context, requests, chunk } = assignment;
  const missing = layersOf(windows).find((layer) => !held.layers.includes(layer));
  if (missing !== undefined)
    return `its file has no layer ${missing}; give it the part that hearth split writes for this plan`;
  const pages = pageCount(assignment);
  if (pages > MOST_PAGES)
    return `${pages} pages of keys and values; it takes at most ${MOST_PAGES}: use a shorter context or fewer texts at once`;
  if (chunk > part.mostTokens) return `${chunk} tokens at once; it takes at most ${part.mostTokens}`;
  const short = missingCacheMemory(assignment, part.model, memory);
  if (short === undefined) return undefined;
  const { layers, needs, has } = short;
  return `${layers} layers need ${needs} of KV cache for ${requests} × ${context} tokens; ${has} are available: use a shorter context or give it fewer layers`;
}
