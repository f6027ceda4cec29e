import { roomForWeights } from '../../cost/reclaim.ts';
import { formatBytes } from '../../input/format.ts';
import { type FittedPolicy, fitPolicy, type WeightsPolicy } from '../../plan/weights-policy.ts';
import { totalBytes } from '../../runtime/weights/byte-ranges.ts';
import type { WeightsRecorder } from '../../runtime/weights/mapped-weights.ts';
import type { WeightsPart } from '../../runtime/weights/weights-layout.ts';
import { createWindowWeights } from '../../runtime/weights/window-weights.ts';
import type { WeightsReport, WindowAssignment } from '../wire/message.ts';
import type { RingSpan } from '../wire/span.ts';
import type { LoadedPart } from './loaded-part.ts';
import { layersInRam } from './memory.ts';
import { watchReads } from './still-reads.ts';

/** A window by its index in the plan, or the head's output layer. */
export type WindowOrOutput = number | 'output';

/** Carries out a device's weights policy, window by window (runtime/weights/window-weights.ts describes the order). */
export interface DeviceWeights {
  readonly report: WeightsReport;
  /** Waits until the window's weights may be used. */
  arrival(window: WindowOrOutput): Promise<void>;
  /** Must be called when the window was computed. @returns its seconds that were spent in page faults */
  ran(window: WindowOrOutput): number;
  /** Releases the window and prefetches the next one; called after the result was sent. */
  after(window: WindowOrOutput): void;
  /** Records what was done so far. */
  collect(): void;
  /** Cancels reads that are under way. */
  cancel(): void;
  close(): void;
}

export interface DeviceWeightsOptions {
  readonly loaded: LoadedPart;
  /** The device's windows in their order. */
  readonly windows: readonly Pick<WindowAssignment, 'index' | 'from' | 'to' | 'onGpu'>[];
  /** Whether layers are cut; all slices then stay in memory. */
  readonly isCut: boolean;
  /** The place of the output layer: on the head by itself, with the head's last window, or on another device. */
  readonly output: 'by-itself' | 'with-last-window' | 'elsewhere';
  readonly requested: WeightsPolicy;
  /** Memory for weights and for reading them, bytes. */
  readonly room: number;
  /** `undefined`: nothing is recorded. */
  readonly record: ((span: RingSpan) => void) | undefined;
  /** Called with a readable reason when reads that a window waits for make no progress. */
  readonly onStill: (reason: string) => void;
  /** Called after onStill, if they have ended after all. */
  readonly onMoved?: () => void;
}

/**
 * @returns `undefined` if weights are not managed: nothing was requested, or the kernels hold them in their own memory
 */
export function createDeviceWeights(options: DeviceWeightsOptions): DeviceWeights | undefined {
  const { loaded, output, requested, room, onStill, onMoved = () => {} } = options;
  // Reads of cached experts have spans of their own; page faults can't be told from them by what a thread has read.
  const record = requested.experts === undefined ? options.record : undefined;
  if (options.isCut) return undefined;
  if (requested.prefetch === 'none' && requested.release === 'none' && record === undefined) return undefined;
  const own = options.windows.filter((window) => layersInRam([window]).length > 0);
  const recorder = record && weightsRecorder(record);
  const weights = loaded.mapWeights(recorder);
  if (weights === undefined) return undefined;
  const layers = own.map((window): WeightsPart[] => layersInRam([window]));
  const places = new Map<WindowOrOutput, number>(own.map(({ index }, place) => [index, place]));
  const windows = layers.map((parts) => [...parts]);
  if (output === 'with-last-window') windows.at(-1)?.push('output');
  if (output === 'by-itself') places.set('output', windows.push(['output']) - 1);
  if (windows.length === 0) {
    weights.close();
    return undefined;
  }
  const bytesOf = (parts: readonly WeightsPart[]): number => totalBytes(weights.of(parts).ranges);
  const sizes = layers.map(bytesOf);
  const outputBytes = output === 'elsewhere' ? 0 : bytesOf(['output']);
  const bytes = sizes.reduce((sum, size) => sum + size, outputBytes);
  const usable = roomForWeights(room, bytes);
  const policy = fitPolicy(requested, { windows: sizes, output: outputBytes, room: usable });
  const carried = createWindowWeights({ weights, windows, policy, recorder });
  const fitted: FittedPolicy = policy.release === 'pinned' ? { ...policy, pinned: carried.pinnedBytes } : policy;
  return {
    report: { policy: fitted, bytes },
    async arrival(window) {
      const place = places.get(window);
      if (place === undefined) return;
      await watchReads(carried.arrival(place), {
        onStill: (seconds) => onStill(`its disk has delivered no weights for ${seconds.toFixed(1)} s`),
        onMoved,
      });
    },
    ran(window) {
      const place = places.get(window);
      return place === undefined ? 0 : carried.ran(place);
    },
    after(window) {
      const place = places.get(window);
      if (place !== undefined) carried.after(place);
    },
    collect: () => weights.collect(),
    cancel: () => carried.close(),
    close() {
      carried.close();
      weights.close();
    },
  };
}

/** Records events of weights among a device's other spans, without those of no duration. */
export function weightsRecorder(record: (span: RingSpan) => void): WeightsRecorder {
  return {
    span: ({ lane, cause, name, start, end, args }) => {
      if (end > start) record({ kind: 'weights', lane, cause, name, start, end, args });
    },
    sample: (name, time, value) => record({ kind: 'sample', name, time, value }),
  };
}

/** A device's weights policy in one line, for people. */
export function describeWeights({ policy, bytes }: WeightsReport): string {
  const { experts } = policy;
  if (experts !== undefined) {
    const { slots, pool, method, depth } = experts;
    const whose = pool === 'all' ? 'for all its layers together' : 'of each layer';
    const stay = slots === 'fit' ? 'the page cache keeps what it has room for' : `${slots} stay ${whose}`;
    return `${formatBytes(bytes)} of weights: of the experts ${stay}, others are read when tokens choose them (${method}, ${depth} at once)`;
  }
  const kept =
    policy.release === 'pinned' ? `${formatBytes(policy.pinned)} stay in memory` : `release ${policy.release}`;
  return `${formatBytes(bytes)} of weights: ${kept}, prefetch ${policy.prefetch}`;
}

/** Whether some of a device's weights are, or may be, read from its disk for every token. */
export function readsWeights({ policy, bytes }: WeightsReport): boolean {
  return policy.release !== 'pinned' || policy.pinned < bytes;
}
