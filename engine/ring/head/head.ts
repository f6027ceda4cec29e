import { randomBytes } from 'node:crypto';
import type { ChipDevice } from '../../hardware/chip.ts';
import { pairKey } from '../../hardware/cluster.ts';
import { type CutLayers, loadCutLayers, withSlices } from '../device/cut-layers.ts';
import { type DevicePart, loadDevicePart, type RingGpu } from '../device/device-part.ts';
import { holdExperts } from '../device/held-experts.ts';
import type { LoadedPart } from '../device/loaded-part.ts';
import { heldMemory, missingCacheMemory, weightsRoom } from '../device/memory.ts';
import { activationBytes } from '../wire/activations.ts';
import { withPort } from '../wire/address.ts';
import { clock } from '../wire/clock.ts';
import { type ActivationFrame, type Frame, mostFrameBytes, type SumsFrame } from '../wire/frame.ts';
import { FrameError } from '../wire/frame-error.ts';
import type { KeyPair } from '../wire/keys.ts';
import type { Assignment, WeightsReport, WorkerMessage } from '../wire/message.ts';
import { MOST_SPANS, type RingSpan } from '../wire/span.ts';
import { createTransport } from '../wire/transport.ts';
import { type Assembly, createAssembly } from './assembly.ts';
import { assignments, type RingAddress, type RingSettings } from './assignments.ts';
import { chunkTokens } from './chunk-tokens.ts';
import { announcedPasses, sharedBytes, slicesOfHead } from './cut-head.ts';
import { createDividedExperts, type DividedExperts } from './divided-experts.ts';
import { DeviceLostError, RingChangedError, RingError } from './errors.ts';
import {
  createInquiries,
  type DeviceExpertReads,
  type DeviceFacts,
  type DeviceHeldMemory,
  type DeviceSpans,
  type MeasuredRingLink,
} from './inquiries.ts';
import { createPresence, lossReason } from './lost-worker.ts';
import { createMember, type Member, type MemberAddress } from './member.ts';
import { createOwnWindows, type OwnWindows } from './own-windows.ts';
import { createRingPasses, type RingPasses } from './passes.ts';
import { createPatience } from './patience.ts';
import type { RingLayout } from './planning.ts';
import type { AwaitedDevices } from './sent-frames.ts';

export interface HeadOptions {
  /** This device's name in the cluster. */
  readonly name: string;
  readonly loaded: LoadedPart;
  /** The GPU that this device computes on in addition to its CPU. */
  readonly gpu: RingGpu | undefined;
  /** The chip whose NPU's times are taken by the thread that stands for it; default: it is as fast as it computes. */
  readonly chip?: ChipDevice | undefined;
  readonly keys: KeyPair | undefined;
  readonly members: readonly MemberAddress[];
  readonly settings: RingSettings;
  /** Memory for weights and KV caches on this device, bytes. */
  readonly memory: number;
  /** Memory of the whole process, or the RAM, bytes. */
  readonly memoryLimit: number;
  /** Seconds that frames wait before they are sent; default 0. */
  readonly linkDelay?: number;
  /** Seconds to wait for members to connect; default GATHER_SECONDS. */
  readonly gatherSeconds?: number;
  readonly log: (line: string) => void;
}

/** The device at which tokens enter and leave the ring, and which knows the plan. */
export interface RingHead extends RingPasses {
  /** The devices that are connected and usable, the head first, in ring order. */
  present(): string[];
  /** The GPUs of the devices that are connected and have one to use: names by device. */
  gpus(): ReadonlyMap<string, string>;
  /** Waits until all members are connected. Rejects with a RingError for the first one that isn't. */
  gather(): Promise<void>;
  /** Assembles the ring; requests under way are lost. Rejects with a DeviceLostError for a device that fails to join. */
  assemble(layout: RingLayout): Promise<void>;
  /** Weights policies of the devices in the current assembly; devices that don't manage their weights are omitted. */
  readonly weights: ReadonlyMap<string, WeightsReport>;
  /** Whether the ring is assembled and not broken. */
  readonly whole: boolean;
  /** Devices that came back since the last assembly. */
  readonly returned: ReadonlySet<string>;
  /** The number of a new request in the current assembly. */
  request(): number;
  /** Readmits a device that was excluded because another device couldn't reach it. */
  readmit(device: string): void;
  /** Whether links have been measured. */
  readonly measured: boolean;
  /** Measures the links of the current assembly, which then bound the tokens of a frame. Rejects with a RingError for a device that doesn't answer, or is lost. */
  measure(): Promise<MeasuredRingLink[]>;
  /** The members' descriptions of themselves. */
  profiles(fresh: boolean): Promise<DeviceFacts[]>;
  collectSpans(): Promise<DeviceSpans[]>;
  /** Memory that the devices of the current assembly hold now and can't reclaim, the head first. */
  heldMemory(): Promise<DeviceHeldMemory[]>;
  /** Experts that the devices of the current assembly which cache them have needed and read, the head first. */
  expertReads(): Promise<DeviceExpertReads[]>;
  close(): Promise<void>;
}

/** A request whose device is missing ends within five seconds, this wait included. */
const GATHER_SECONDS = 4;

/** Seconds between looks at what the head waits for. */
const LOOK = 0.5;

/** An assembly with the head's own share of it. */
interface Ring {
  readonly assembly: Assembly;
  readonly own: OwnWindows;
  readonly passes: RingPasses;
  /** Experts of a plan that divides them; otherwise `undefined`. */
  readonly experts: DividedExperts | undefined;
  /** The head's slices under a plan that cuts tensors; otherwise `undefined`. */
  readonly cut: CutLayers | undefined;
}

export function startHead(options: HeadOptions): RingHead {
  const { name: head, loaded, settings, gatherSeconds = GATHER_SECONDS, log } = options;
  const { hiddenSize } = loaded.part.model;
  const transport = createTransport(options.keys, log, options.linkDelay);
  const mostBytes = mostFrameBytes(loaded.part.model, settings.chunk);
  const spans: RingSpan[] = [];
  /** Bandwidth of measured links, bytes per second, by their devices' pairKey. */
  const bandwidths = new Map<string, number>();
  const tokenBytes = activationBytes(hiddenSize, settings.activations);
  /** Numbers of all assemblies so far. */
  const epochs = new Set<number>();
  let ring: Ring | undefined;
  let closed = false;

  let sayPatience = createPatience(log);
  const patience = setInterval(() => {
    if (ring !== undefined && ring.assembly.broken === undefined) sayPatience(awaited(ring));
  }, 1000 * LOOK);

  const presence = createPresence({
    head,
    members: () => members.map(({ name, welcome }) => ({ name, connected: welcome !== undefined })),
    isAssembled: () => ring !== undefined,
    onLost(error) {
      if (ring?.assembly.devices.includes(error.device)) ring.assembly.breakUp(error);
    },
    log,
  });

  const onMessage = (from: string, message: WorkerMessage): void => {
    if ('epoch' in message && message.epoch !== ring?.assembly.epoch) return;
    if (message.kind === 'invalid') expel(message.device, `${from} got from it ${message.reason}`);
    inquiries.hear(from, message);
    if ('epoch' in message) ring?.assembly.hear(from, message);
  };

  const onActivations = (from: string, frame: ActivationFrame): void => {
    if (!epochs.has(frame.epoch))
      throw new FrameError(`activations of assembly ${frame.epoch}, which this head never made`);
    // Frames of an earlier assembly may still arrive.
    if (ring === undefined || ring.assembly.broken !== undefined || frame.epoch !== ring.assembly.epoch) return;
    const { windows } = ring.assembly;
    if (windows[frame.window - 1]?.device !== from)
      throw new FrameError(`activations for window ${frame.window}, which ${from} doesn’t send here`);
    if (frame.window === windows.length) ring.own.takeOutput(frame, from);
    else ring.own.accept(frame, from);
  };

  const onSums = (from: string, frame: SumsFrame): void => {
    if (!epochs.has(frame.epoch)) throw new FrameError(`sums of assembly ${frame.epoch}, which this head never made`);
    // Sums of an earlier assembly may still arrive.
    if (ring === undefined || ring.assembly.broken !== undefined || frame.epoch !== ring.assembly.epoch) return;
    const taker = ring.cut ?? ring.experts;
    if (taker === undefined) throw new FrameError('sums, of which the plan has none');
    taker.take(frame, from);
  };

  const identity = randomBytes(16).toString('hex');
  const members: readonly Member[] = options.members.map((address) =>
    createMember({
      ...address,
      transport,
      head,
      model: loaded.identity,
      ring: identity,
      digests: loaded.digests,
      mostBytes,
      onPresent: () => presence.came(address.name),
      onGone(cut) {
        const reason = lossReason(cut, bandwidths.get(pairKey(head, address.name)));
        presence.gone(address.name, reason);
        inquiries.lost(address.name, reason);
      },
      onMessage: (message) => onMessage(address.name, message),
      onActivations: (frame) => onActivations(address.name, frame),
      onSums: (frame) => onSums(address.name, frame),
    }),
  );
  const inquiries = createInquiries({ head, members, spans });
  const expel = (device: string, reason: string): void => members.find(({ name }) => name === device)?.expel(reason);
  const memberOf = (device: string): Member => members.find(({ name }) => name === device) as Member;

  const addressOf = (device: string): RingAddress => {
    const { address, publicKey } = options.members.find(({ name }) => name === device) as MemberAddress;
    const ringPort = memberOf(device).welcome?.ringPort ?? 0;
    return { address: withPort(address, ringPort), publicKey };
  };

  const dissolve = async (): Promise<void> => {
    ring?.assembly.breakUp(new RingChangedError('the ring is assembled again'));
    ring?.cut?.end();
    await ring?.own.end();
    ring = undefined;
  };

  const record = (span: RingSpan): void => {
    if (settings.trace && spans.length < MOST_SPANS) spans.push(span);
  };

  /** Creates an assembly in which only the head's own windows are prepared. */
  const createRing = async (layout: RingLayout): Promise<Ring> => {
    const assigned = assignments(layout, head, addressOf, settings);
    sayPatience = createPatience(log);
    const assignment = assigned.get(head) as Assignment;
    epochs.add(assignment.epoch);
    const slices = assignment.cut && slicesOfHead(head, loaded, assignment.cut);
    const seen = slices === undefined ? loaded : withSlices(loaded, slices);
    checkMemory(assignment, { ...options, loaded: seen });
    const { windows, onGpu: outer = [], outputOnNpu, holders } = layout;
    for (const device of layout.partitions?.keys() ?? [])
      log(`a thread of ${device} stands for its NPU, its CPU for its GPU`);
    const assembly = createAssembly({
      head,
      windows,
      layerBytes: loaded.part.model.layer.bytes,
      heldBytes: Math.max(...[...assigned.values()].map((one) => sharedBytes(loaded, one))),
      assigned,
      tell: (device, message) => memberOf(device).tell(message),
      onLost(device, told) {
        if (told !== undefined) log(told);
        presence.exclude(device);
      },
    });
    const { epoch, activations, held } = assignment;
    const { whileWhole } = assembly;
    const experts =
      holders &&
      createDividedExperts({
        ...{ head, loaded, holders, epoch, activations, whileWhole, record },
        send: (device, frame) => memberOf(device).send(frame),
      });
    const room = weightsRoom(assignment, seen, options.memory);
    const send = (device: string, frame: Frame): void => memberOf(device).send(frame);
    const loadCut = async (): Promise<CutLayers | undefined> =>
      assignment.cut &&
      (await loadCutLayers({
        ...assignment,
        ...{ loaded, cut: assignment.cut, slices: slices ?? [], room, send, record },
      }));
    const cut = await loadCut().catch((error: Error) => {
      throw new RingError(head, error.message);
    });
    const load = async (): Promise<DevicePart> => {
      if (cut !== undefined) return { part: cut.part, experts: undefined, close: cut.close };
      const device = await loadDevicePart({
        ...{ loaded, gpu: options.gpu, windows: assignment.windows, context: assignment.context, outer, room },
        ...{ experts: assignment.weights.experts, hasOutput: true, divided: experts },
        ...{ partition: assignment.partition, streamed: assignment.streamed, outputOnNpu, chip: options.chip },
        record: settings.trace ? record : undefined,
        wanted: () => !closed,
      });
      if (held === undefined) return device;
      const own = await holdExperts(loaded, held, room);
      return { ...device, close: own.close };
    };
    const device = await load().catch((error: Error) => {
      throw new RingError(head, error.message);
    });
    const own = createOwnWindows({
      head,
      loaded: seen,
      device,
      outer,
      begins: cut && announcedPasses({ cut, epoch, activations, send, devices: assembly.devices }),
      assignment,
      assembly,
      memory: options.memory,
      send: (device, frame) => memberOf(device).send(frame),
      record,
      onFailed: (error) => assembly.breakUp(Object.assign(new RingError(head, error.message), { cause: error })),
    });
    if (own.weights !== undefined) assembly.weights.set(head, own.weights);
    const passes = createRingPasses({
      chunk: () => chunkTokens({ ...{ head, windows, bandwidths, tokenBytes }, most: settings.chunk }),
      pageTokens: settings.pageTokens,
      windows: assembly.windows.length,
      pending: assembly.pending,
      broken: () => assembly.broken,
      enter: own.enter,
      onFailed: (error) => assembly.breakUp(Object.assign(new RingError(head, error.message), { cause: error })),
      late(seconds) {
        const { devices } = awaited({ own, experts, cut }) ?? { devices: [head] };
        const error = new RingError(devices.join(', '), `no result for ${seconds} s`);
        assembly.breakUp(error);
        return error;
      },
    });
    return { assembly, own, passes, experts, cut };
  };

  return {
    present: presence.present,
    gpus() {
      const own = options.gpu === undefined ? [] : [[head, options.gpu.name] as const];
      const others = members.flatMap(({ name, welcome }) =>
        welcome?.gpu === undefined ? [] : [[name, welcome.gpu] as const],
      );
      return new Map([...own, ...others]);
    },
    returned: presence.returned,
    get whole() {
      return ring !== undefined && ring.assembly.broken === undefined;
    },
    get weights() {
      return ring?.assembly.weights ?? new Map();
    },
    async gather() {
      const end = clock() + gatherSeconds;
      for (;;) {
        const absent = members.find(({ welcome }) => welcome === undefined);
        if (absent === undefined) return;
        if (clock() > end || absent.unfit) throw new RingError(absent.name, absent.problem);
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    },
    async assemble(layout) {
      await dissolve();
      const present = presence.present();
      const { windows, holders = [], cut } = layout;
      const absent = [...windows, ...holders, ...(cut?.members ?? [])].find(({ device }) => !present.includes(device));
      if (absent !== undefined) {
        const problem = members.find(({ name }) => name === absent.device)?.problem;
        throw new DeviceLostError(absent.device, problem ?? 'is no device of the cluster');
      }
      ring = await createRing(layout);
      presence.assembled();
      await ring.assembly.prepare();
    },
    request: () => (ring as Ring).assembly.nextRequest(),
    evaluate: (work, copies) => (ring as Ring).passes.evaluate(work, copies),
    readmit: presence.include,
    get measured() {
      return bandwidths.size > 0;
    },
    async measure() {
      const { epoch, devices, whileWhole } = (ring as Ring).assembly;
      const links = await whileWhole(inquiries.measure(epoch, devices));
      for (const { from, to, bandwidth } of links) bandwidths.set(pairKey(from, to), bandwidth);
      return links;
    },
    profiles: inquiries.profiles,
    collectSpans: inquiries.collectSpans,
    async heldMemory() {
      const { assembly, own } = ring as Ring;
      const held = heldMemory(options.memoryLimit, own.plannedBytes);
      return [{ device: head, ...held }, ...(await inquiries.heldMemory(assembly.devices))];
    },
    async expertReads() {
      const { assembly, own } = ring as Ring;
      const caching = assembly.devices.filter((device) => assembly.weights.get(device)?.policy.experts !== undefined);
      const others = await assembly.whileWhole(inquiries.expertReads(assembly.epoch, caching));
      return [...(own.expertReads === undefined ? [] : [{ device: head, ...own.expertReads }]), ...others];
    },
    async close() {
      closed = true;
      clearInterval(patience);
      await dissolve();
      inquiries.close();
      for (const member of members) {
        if (member.welcome !== undefined) member.tell({ kind: 'bye' });
        member.close();
      }
      transport.close();
    },
  };
}

/** Devices that have been waited for the longest. */
function awaited({ own, experts, cut }: Pick<Ring, 'own' | 'experts' | 'cut'>): AwaitedDevices | undefined {
  return cut?.awaited() ?? experts?.awaited() ?? own.awaited();
}

function checkMemory(assignment: Assignment, { name, loaded, memory }: HeadOptions): void {
  const short = missingCacheMemory(assignment, loaded.part.model, memory);
  if (short === undefined) return;
  const { layers, needs, has } = short;
  throw new RingError(name, `${layers} layers need ${needs} of KV cache; ${has} are available: use a shorter context`);
}
