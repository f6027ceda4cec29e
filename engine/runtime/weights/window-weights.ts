import type { FittedPolicy } from '../../plan/weights-policy.ts';
import { totalBytes, withoutRanges } from './byte-ranges.ts';
import type { MappedWeights, WeightsRanges, WeightsRecorder, WeightsTask } from './mapped-weights.ts';
import { pinnedRanges } from './pinned-ranges.ts';
import { createBlockedMeter, createFaultCounter } from './process-counters.ts';
import { describeParts, type PassPartName, type WeightsPart, weightsPartOf } from './weights-layout.ts';
import { createWindowResidency } from './window-residency.ts';

export interface WindowWeightsOptions {
  readonly weights: MappedWeights;
  /** The parts of each of a device's windows, k of them for a token; the head's last one has `output`. */
  readonly windows: readonly (readonly WeightsPart[])[];
  readonly policy: FittedPolicy;
  /**
   * Windows that are prefetched ahead. The default, 1, suits a ring, in which others compute meanwhile; a single
   * process needs 2, to read the next window while it computes one.
   */
  readonly ahead?: number;
  /** `undefined`: nothing is counted or measured. */
  readonly recorder?: WeightsRecorder | undefined;
}

/**
 * Carries out a plan's weights policy window by window:
 *
 *     weights.before(i)   // waits for the reads of window i, if the policy reads explicitly
 *     compute window i
 *     weights.ran(i)      // the part of that time that waited for page faults
 *     send the result
 *     weights.after(i)    // releases the unpinned part, then prefetches the next window
 *
 * The order matters: first send, since others wait for the result; then drop, since the next window needs the room;
 * then
 * prefetch. `after` only queues jobs for a helper thread, which keeps that order, and returns at once.
 */
export interface WindowWeights {
  /** Pinned bytes. */
  readonly pinnedBytes: number;
  before(window: number): void;
  /** Like `before`, without blocking other events of the process. */
  arrival(window: number): Promise<void>;
  /** Seconds of the computation in which page faults waited for reads; 0 without a recorder. */
  ran(window: number): number;
  after(window: number): void;
  /** Cancels all reads, including those that are awaited. */
  close(): void;
}

/** Also prefetches the first windows. Pinned parts are read with their window and then stay. */
export function createWindowWeights(options: WindowWeightsOptions): WindowWeights {
  const { weights, windows, policy, recorder, ahead = 1 } = options;
  const { prefetch: call } = policy;
  const pinned = policy.release === 'pinned' ? pinnedRanges(weights.layout, windows, policy.pinned) : [];
  const wholes = windows.map((parts) => weights.of(parts));
  const rests = wholes.map(({ name, ranges }): WeightsRanges => ({ name, ranges: withoutRanges(ranges, pinned) }));
  const wanted = new Map<number, WeightsTask>();
  const touched = new Set<number>();
  const watch = recorder && {
    faults: createFaultCounter(weights.pages),
    blocked: createBlockedMeter(),
    residency: createWindowResidency(weights, windows, recorder),
  };
  let taken: WeightsTask | undefined;
  let start = performance.now() / 1000;
  // Explicit reads that are awaited need no readahead, which would reload what was just dropped.
  weights.readAhead(call !== 'populate');

  const prefetch = (window: number): void => {
    if (call === 'none' || wanted.has(window)) return;
    // The first time the whole window is read, and its pinned part stays.
    const wants = (touched.has(window) ? rests : wholes)[window] as WeightsRanges;
    touched.add(window);
    wanted.set(window, weights.prefetch(wants, call));
  };
  /** Prefetches from a window on, up to the first with layers to be read. */
  const prefetchFrom = (first: number): void => {
    for (let one = first; one < first + windows.length; one++) {
      const window = one % windows.length;
      const staysWhole = touched.has(window) && rests[window]?.ranges.length === 0;
      prefetch(window);
      if (!staysWhole && windows[window]?.some((part) => part !== 'output')) return;
    }
  };
  /** Whether nothing is left to do: without a recorder, windows cost nothing once all weights are pinned. */
  const staysForGood = call !== 'none' && recorder === undefined && rests.every(({ ranges }) => ranges.length === 0);
  const isIdle = (): boolean => staysForGood && touched.size === windows.length && wanted.size === 0;
  const nameOf = (window: number): string => describeParts(windows[window] as readonly WeightsPart[]);
  /** @param asked the time at which waiting for its reads began; `undefined` if there was nothing to wait for */
  const begin = (window: number, asked: number | undefined): void => {
    start = performance.now() / 1000;
    if (watch === undefined) return;
    watch.faults();
    watch.blocked();
    const span = { lane: 'cpu', cause: 'disk', name: `waits for ${nameOf(window)}`, args: {} } as const;
    if (asked !== undefined) recorder?.span({ ...span, start: asked, end: start });
  };
  /** The job to wait for before a window; `undefined`: none. */
  const take = (window: number): WeightsTask | undefined => {
    prefetch(window);
    const task = wanted.get(window);
    wanted.delete(window);
    taken = task;
    return call === 'populate' && task?.isDone() === false ? task : undefined;
  };
  const recordFaults = (window: number): number => {
    const bytes = watch?.faults() ?? 0;
    const span = { lane: 'disk', cause: 'disk', name: 'page fault', start, end: performance.now() / 1000 } as const;
    if (bytes > 0) recorder?.span({ ...span, args: { bytes, what: nameOf(window) } });
    return bytes;
  };

  for (let window = 0; window < Math.min(ahead, windows.length); window++) prefetch(window);

  return {
    pinnedBytes: totalBytes(pinned),
    before(window) {
      const asked = performance.now() / 1000;
      const task = take(window);
      task?.wait();
      begin(window, task && asked);
    },
    async arrival(window) {
      if (isIdle()) return;
      const asked = performance.now() / 1000;
      const task = take(window);
      await task?.settled();
      begin(window, task && asked);
    },
    ran(window) {
      const blocked = watch?.blocked() ?? 0;
      // Reads of MADV_WILLNEED may be in progress: page faults wait for them without reading anything themselves.
      const mayWait = recordFaults(window) > 0 || call === 'willneed';
      return mayWait ? Math.min(blocked, performance.now() / 1000 - start) : 0;
    },
    after(window) {
      if (isIdle()) return;
      recordFaults(window);
      watch?.residency.sample(window);
      const rest = rests[window] as WeightsRanges;
      if (policy.release !== 'none' && rest.ranges.length > 0) weights.release(rest);
      prefetchFrom((window + ahead) % windows.length);
    },
    close() {
      for (const task of [...wanted.values(), taken]) task?.cancel();
      weights.readAhead(true);
    },
  };
}

/** Hooks of a forward pass that call `before` at a window's first part and `after` at its last. */
export function windowHooks(
  windows: readonly (readonly WeightsPart[])[],
  weights: Pick<WindowWeights, 'before' | 'after'>,
) {
  const first = new Map(windows.map((parts, window) => [parts[0], window]));
  const last = new Map(windows.map((parts, window) => [parts.at(-1), window]));
  return {
    before(part: PassPartName): void {
      const window = first.get(weightsPartOf(part));
      if (window !== undefined) weights.before(window);
    },
    after({ name }: { readonly name: PassPartName }): void {
      const window = last.get(weightsPartOf(name));
      if (window !== undefined) weights.after(window);
    },
  };
}

/** Divides all layers into windows of equal size (the last may be smaller), with the output in the last. */
export function equalWindows(layers: number, size: number): WeightsPart[][] {
  const windows: WeightsPart[][] = [];
  for (let from = 0; from < layers; from += size) {
    windows.push(Array.from({ length: Math.min(size, layers - from) }, (_, i) => from + i));
  }
  windows.at(-1)?.push('output');
  return windows;
}
