import type { FittedPolicy } from '../../plan/weights-policy.ts';
import { totalBytes, withoutRanges } from './byte-ranges.ts';
import type { MappedWeights, WeightsRanges, WeightsRecorder, WeightsTask } from './mapped-weights.ts';
import { pinnedRanges } from './pinned-ranges.ts';
import { createBlockedMeter, createFaultCounter } from './process-counters.ts';
import { describeParts, type PassPartName, type WeightsPart, weightsPartOf } from './weights-layout.ts';
import { createWindowResidency } from './window-residency.ts';

export interface WindowWeightsOptions {
  readonly weights: MappedWeights;
  /** What a device runs at each of its turns, k of them for a token; the head's last one has `output`. */
  readonly windows: readonly (readonly WeightsPart[])[];
  readonly policy: FittedPolicy;
  /**
   * Windows that are asked for ahead of the one that has ended. 1, the default, is a ring's: others compute meanwhile. A
   * process by itself needs 2, to read the next window while it computes one.
   */
  readonly ahead?: number;
  /** Undefined: nothing is counted or measured either. */
  readonly recorder?: WeightsRecorder | undefined;
}

/**
 * A plan's weights policy, carried out window by window. In a turn:
 *
 *     weights.before(i)   // waits for what is being read of window i, if the policy reads by itself
 *     compute window i
 *     weights.ran(i)      // how much of that was waiting for page faults
 *     send the result
 *     weights.after(i)    // gives back what of it isn't pinned, then asks for the next window
 *
 * The order matters: first send, for others wait for it; then drop, for the next window needs the room; then wake the
 * prefetcher. `after` only tells a helper thread, which keeps to that order, and returns at once.
 */
export interface WindowWeights {
  /** What stays in memory for good, bytes. */
  readonly pinnedBytes: number;
  before(window: number): void;
  /** As `before`; other events of the process have their turn meanwhile. */
  arrival(window: number): Promise<void>;
  /** Seconds of the computation in which page faults waited for reads; 0 without a recorder. */
  ran(window: number): number;
  after(window: number): void;
  /** Cancels all reads, those that are waited for included. */
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
  // What is read explicitly, and waited for, needs no readahead, which would bring back what was just dropped.
  weights.readAhead(call !== 'populate');

  const prefetch = (window: number): void => {
    if (call === 'none' || wanted.has(window)) return;
    // The first time all of it is read, and what is pinned stays.
    const wants = (touched.has(window) ? rests : wholes)[window] as WeightsRanges;
    touched.add(window);
    wanted.set(window, weights.prefetch(wants, call));
  };
  /** From a window on, up to the first with layers to be read: what comes before it has its turn in between. */
  const prefetchFrom = (first: number): void => {
    for (let one = first; one < first + windows.length; one++) {
      const window = one % windows.length;
      const staysWhole = touched.has(window) && rests[window]?.ranges.length === 0;
      prefetch(window);
      if (!staysWhole && windows[window]?.some((part) => part !== 'output')) return;
    }
  };
  /** Without a recorder, windows cost nothing once all weights have been read and stay. */
  const staysForGood = call !== 'none' && recorder === undefined && rests.every(({ ranges }) => ranges.length === 0);
  const isIdle = (): boolean => staysForGood && touched.size === windows.length && wanted.size === 0;
  const nameOf = (window: number): string => describeParts(windows[window] as readonly WeightsPart[]);
  /** @param asked when waiting for its reads began; `undefined` if there was nothing to wait for */
  const begin = (window: number, asked: number | undefined): void => {
    start = performance.now() / 1000;
    if (watch === undefined) return;
    watch.faults();
    watch.blocked();
    const span = { lane: 'cpu', cause: 'disk', name: `waits for ${nameOf(window)}`, args: {} } as const;
    if (asked !== undefined) recorder?.span({ ...span, start: asked, end: start });
  };
  /** The job to wait for before a window's turn; `undefined`: none. */
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
      // MADV_WILLNEED's reads may be under way: page faults wait for them, and read nothing of their own.
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

/** The hooks of a forward pass by which a policy is carried out: `before` a window's first part, `after` its last. */
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

/** All layers in windows of equal size (the last may be smaller), and the output with the last. */
export function equalWindows(layers: number, size: number): WeightsPart[][] {
  const windows: WeightsPart[][] = [];
  for (let from = 0; from < layers; from += size) {
    windows.push(Array.from({ length: Math.min(size, layers - from) }, (_, i) => from + i));
  }
  windows.at(-1)?.push('output');
  return windows;
}
