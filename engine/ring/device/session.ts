import { WeightsLostError } from '../../kernels/weights-lost-error.ts';
import type { ActivationFrame, ExpertsFrame, Frame, SumsFrame } from '../wire/frame.ts';
import { FrameError } from '../wire/frame-error.ts';
import type { Assignment, SessionMessage, WorkerMessage } from '../wire/message.ts';
import { messageFrame, reasonOf } from '../wire/parse-message.ts';
import { MOST_SPANS, type RingSpan } from '../wire/span.ts';
import type { Transport } from '../wire/transport.ts';
import { type CarriedAssignment, carryOut } from './carried-assignment.ts';
import type { RingGpu } from './device-part.ts';
import { describeWeights } from './device-weights.ts';
import type { LoadedPart } from './loaded-part.ts';
import { heldMemory } from './memory.ts';

/**
 * A worker's session with one head. Its states: idle; prepared, with an assignment whose weights and windows are ready;
 * linked, when its successors are connected too. A new assignment ends the previous one.
 */
export interface WorkerSession {
  /** @throws FrameError for a message that a head can't send */
  onMessage(message: SessionMessage): void;
  onActivations(frame: ActivationFrame, link: string): void;
  /** @throws FrameError for a request that a head can't send */
  onExperts(frame: ExpertsFrame): void;
  /** @throws FrameError for sums that no device of the plan sends */
  onSums(frame: SumsFrame, link: string): void;
  /** Whether a device with this key sends results here under the current assignment. */
  expects(publicKey: string): boolean;
  /** Whether the connection of this name belongs to the head or to a device of the current assignment. */
  receivesFrom(link: string): boolean;
  /**
   * Tells the head if the connection `link`, from which nothing more is heard, is that of a device of the current
   * assignment. @returns whether it is
   */
  accuse(link: string, reason: string): boolean;
  /** Frees all memory of requests and closes links to other devices. */
  end(): Promise<void>;
}

export interface WorkerSessionOptions {
  readonly transport: Transport;
  readonly loaded: LoadedPart;
  readonly gpu: RingGpu | undefined;
  /** Memory for weights and caches, bytes. */
  readonly memory: number;
  /** Memory of the whole process, or the RAM, bytes. */
  readonly memoryLimit: number;
  /** The longest frame, bytes. */
  readonly mostBytes: number;
  /** The name of the head's connection. */
  readonly headLink: string;
  /** This device as in a cluster file, JSON. */
  readonly profile: (fresh: boolean) => Promise<string>;
  readonly sendToHead: (frame: Frame) => Promise<void>;
  /** Called with the reason when this device can't compute for now, and with `undefined` when it can again. */
  readonly onUnable: (reason: string | undefined) => void;
  /** Called when its file can't be read any more; it will never compute again. */
  readonly onWeightsLost: (error: WeightsLostError) => void;
  readonly log: (line: string) => void;
}

/** Spans in one message. */
const SPANS_PER_MESSAGE = 10_000;

export function createWorkerSession(options: WorkerSessionOptions): WorkerSession {
  const { log, memoryLimit } = options;
  const spans: RingSpan[] = [];
  let current: CarriedAssignment | undefined;
  /** The assignment that is carried out, or will be when its layers are loaded. */
  let wanted: number | undefined;
  let measuring = false;

  // Errors are ignored here: served-head.ts notices a head that is gone.
  const send = (frame: Frame): void => void options.sendToHead(frame).catch(() => {});
  const tell = (message: WorkerMessage): void => send(messageFrame(message));
  const fail = (epoch: number, message: string): void => {
    const reason = reasonOf(message);
    log(reason);
    tell({ kind: 'failed', epoch, reason });
  };
  const unable = (reason: string): void => {
    log(reason);
    tell({ kind: 'unable', reason: reasonOf(reason) });
    options.onUnable(reason);
  };
  const onError = (epoch: number, error: Error): void => {
    if (error instanceof WeightsLostError) {
      unable(error.message);
      options.onWeightsLost(error);
    } else fail(epoch, error.message);
  };
  const end = async (): Promise<void> => {
    const old = current;
    current = undefined;
    wanted = undefined;
    await old?.end();
  };

  const prepare = async (assignment: Assignment): Promise<void> => {
    const { epoch } = assignment;
    await end();
    wanted = epoch;
    const carried = await carryOut({
      ...options,
      assignment,
      wanted: () => wanted === epoch,
      sendToHead: send,
      onLinked: () => tell({ kind: 'linked', epoch }),
      onLost(device, reason) {
        log(`the link to ${device} is gone: ${reason}`);
        tell({ kind: 'lost', epoch, device, reason });
      },
      onFailed: (error) => onError(epoch, error),
      onStill: unable,
      onMoved: () => options.onUnable(undefined),
      record(span) {
        if (spans.length < MOST_SPANS) spans.push(span);
      },
    });
    if (wanted !== epoch) return await carried.end();
    current = carried;
    const { weights } = carried;
    if (weights !== undefined) log(describeWeights(weights));
    tell({ kind: 'prepared', epoch, weights });
  };

  const measure = async (carried: CarriedAssignment, bytes: number): Promise<void> => {
    measuring = true;
    const links = await carried.measure(bytes).finally(() => {
      measuring = false;
    });
    tell({ kind: 'measured', epoch: carried.epoch, links });
  };

  /** Sends all spans; an empty message marks the end. */
  const report = (): void => {
    current?.collect();
    while (spans.length > 0) tell({ kind: 'spans', spans: spans.splice(0, SPANS_PER_MESSAGE) });
    tell({ kind: 'spans', spans: [] });
  };

  return {
    expects: (publicKey) => current?.expects(publicKey) ?? false,
    receivesFrom: (link) => current?.receivesFrom(link) ?? false,
    accuse(link, reason) {
      const device = current?.predecessor(link);
      if (current === undefined || device === undefined) return false;
      tell({ kind: 'invalid', epoch: current.epoch, device, reason: reasonOf(reason) });
      return true;
    },
    end,
    onMessage(message) {
      const concerned = 'epoch' in message && current?.epoch === message.epoch ? current : undefined;
      switch (message.kind) {
        case 'prepare': {
          const { epoch } = message.assignment;
          prepare(message.assignment).catch((error: Error) => onError(epoch, error));
          return;
        }
        case 'link':
          try {
            concerned?.link();
          } catch (error) {
            if (error instanceof FrameError) throw error;
            fail(message.epoch, (error as Error).message);
          }
          return;
        case 'measure': {
          if (measuring) throw new FrameError('a request to measure while one is under way');
          const { epoch, bytes } = message;
          if (concerned !== undefined) measure(concerned, bytes).catch((error: Error) => fail(epoch, error.message));
          return;
        }
        case 'report':
          report();
          return;
        case 'memory':
          tell({ kind: 'memory', ...heldMemory(memoryLimit, current?.plannedBytes ?? 0) });
          return;
        case 'experts':
          if (concerned !== undefined) tell({ kind: 'experts', epoch: message.epoch, reads: concerned.expertReads });
          return;
        case 'profile':
          options.profile(message.fresh).then(
            (facts) => tell({ kind: 'profiled', facts }),
            (error: Error) => tell({ kind: 'unprofiled', reason: reasonOf(error.message) }),
          );
          return;
        case 'bye':
          return;
      }
    },
    onActivations(frame, link) {
      // Frames of an earlier assignment may still arrive.
      if (frame.epoch === current?.epoch) current.accept(frame, link);
    },
    onSums(frame, link) {
      if (frame.epoch === current?.epoch) current.acceptSums(frame, link);
    },
    onExperts(frame) {
      if (frame.epoch === current?.epoch) current.acceptExperts(frame);
    },
  };
}
