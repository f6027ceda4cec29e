import type { Window } from '../../plan/windows.ts';
import type { Assignment, HeadMessage, WeightsReport, WorkerMessage } from '../wire/message.ts';
import { DeviceLostError, LinkLostError, RingError, within } from './errors.ts';
import type { PendingWork } from './passes.ts';

/** A message that belongs to one assembly of the ring. */
export type AssemblyMessage = Extract<WorkerMessage, { readonly epoch: number }>;

/**
 * The ring as assembled for one plan. First every device prepares its windows, then each connects to its successors;
 * from then on the assembly is whole until it breaks. A broken assembly is not repaired but replaced by another one.
 */
export interface Assembly {
  readonly epoch: number;
  readonly windows: readonly Window[];
  /** The devices other than the head. */
  readonly devices: readonly string[];
  /** By device; devices that do not manage their weights are omitted. */
  readonly weights: Map<string, WeightsReport>;
  /** Work that waits for output, by the number of its request. */
  readonly pending: Map<number, PendingWork>;
  /** Why the assembly is broken; `undefined` while it is not. */
  readonly broken: Error | undefined;
  /** Makes all devices prepare and connect. Rejects with DeviceLostError for a device that exceeds its time limit. */
  prepare(): Promise<void>;
  hear(from: string, message: AssemblyMessage): void;
  /** Settles as `work` does, or rejects with the reason once the assembly breaks. */
  whileWhole<Value>(work: Promise<Value>): Promise<Value>;
  /** Ends all waits with `error`. Later calls have no effect. */
  breakUp(error: Error): void;
  /** The number of a new request. */
  nextRequest(): number;
}

export interface AssemblyOptions {
  readonly head: string;
  readonly windows: readonly Window[];
  /** Bytes of a layer's weights. */
  readonly layerBytes: number;
  /** Bytes of the experts of the device that holds most; default 0. */
  readonly heldBytes?: number;
  /** By device, including the head. */
  readonly assigned: ReadonlyMap<string, Assignment>;
  readonly tell: (device: string, message: HeadMessage) => void;
  /**
   * Called before the assembly breaks because of a lost device. @param told why, where a device said so of its link while
   * the ring was running: the head's own connection may not be cut yet, or never
   */
  readonly onLost: (device: string, told: string | undefined) => void;
}

/** Seconds that devices may take to load their layers, in addition to those that they bring to a GPU and to experts that they hold. */
const PREPARING = 60;
/** Bytes per second at which the slowest disk and GPU take them there. */
const SLOWEST_UPLOAD = 20e6;
/** Seconds that devices may take to connect to each other. */
const LINKING = 10;

export function createAssembly(options: AssemblyOptions): Assembly {
  const { head, windows, layerBytes, heldBytes = 0, assigned, tell, onLost } = options;
  const { epoch } = assigned.get(head) as Assignment;
  const devices = [...assigned.keys()].filter((device) => device !== head);
  const onGpu = windows.reduce((sum, window) => sum + (window.onGpu?.length ?? 0), 0);
  const uploadSeconds = Math.ceil((onGpu * layerBytes + heldBytes) / SLOWEST_UPLOAD);
  const weights = new Map<string, WeightsReport>();
  const pending = new Map<number, PendingWork>();
  let broken: Error | undefined;
  let isRunning = false;
  let requests = 0;
  let onReply: (from: string, message: AssemblyMessage) => void = () => {};
  const onBroken = new Set<(error: Error) => void>();

  const breakUp = (error: Error): void => {
    if (broken !== undefined) return;
    broken = error;
    for (const { reject } of pending.values()) reject(error);
    pending.clear();
    for (const reject of onBroken) reject(error);
  };
  const whileWhole = <Value>(work: Promise<Value>): Promise<Value> =>
    new Promise<Value>((resolve, reject) => {
      if (broken !== undefined) reject(broken);
      onBroken.add(reject);
      work.then(resolve, reject).finally(() => onBroken.delete(reject));
    });

  /** Waits until all devices have sent a message of this kind. */
  const all = (kind: 'prepared' | 'linked', seconds: number): Promise<void> => {
    const missing = new Set(devices);
    const complete = new Promise<void>((resolve) => {
      if (missing.size === 0) resolve();
      onReply = (from, message) => {
        if (message.kind === kind) missing.delete(from);
        if (missing.size === 0) resolve();
      };
    });
    return within(seconds, whileWhole(complete), () => {
      const [late = head] = missing;
      return new DeviceLostError(late, `not ${kind} within ${seconds} s`);
    });
  };

  return {
    epoch,
    windows,
    devices,
    weights,
    pending,
    get broken() {
      return broken;
    },
    async prepare() {
      try {
        const prepared = all('prepared', PREPARING + uploadSeconds);
        for (const device of devices) tell(device, { kind: 'prepare', assignment: assigned.get(device) as Assignment });
        await prepared;
        const linked = all('linked', LINKING);
        for (const device of devices) tell(device, { kind: 'link', epoch });
        await linked;
        isRunning = true;
      } catch (error) {
        if (error instanceof DeviceLostError) onLost(error.device, undefined);
        breakUp(error as Error);
        throw error;
      }
    },
    hear(from, message) {
      if (message.kind === 'failed') return breakUp(new RingError(from, message.reason));
      if (message.kind === 'lost') {
        // If the device itself is gone, its connection to the head breaks too; otherwise only the link failed.
        const error = new LinkLostError(from, message.device, message.reason);
        onLost(message.device, isRunning && broken === undefined ? error.message : undefined);
        return breakUp(error);
      }
      if (message.kind === 'prepared' && message.weights !== undefined) weights.set(from, message.weights);
      onReply(from, message);
    },
    breakUp,
    whileWhole,
    nextRequest: () => requests++,
  };
}
