import type { WeightsPolicy } from '../plan/plan.ts';
import type { RunRecorder } from '../trace/run-recorder.ts';
import { totalBytes, withoutRanges } from './byte-ranges.ts';
import { createFaultCounter } from './fault-counter.ts';
import type { MappedWeights, WeightsRanges, WeightsTask } from './mapped-weights.ts';
import { pinnedRanges } from './pinned-ranges.ts';
import { describeParts, type WeightsPart } from './weights-layout.ts';

export interface WindowWeightsOptions {
  readonly weights: MappedWeights;
  /** What a device runs at each of its turns, k of them for a token; the head's last one has `output`. */
  readonly windows: readonly (readonly WeightsPart[])[];
  readonly policy: WeightsPolicy;
  /**
   * Windows that are asked for ahead of the one that has ended. 1, the default, is a ring's: others compute meanwhile. A
   * process by itself needs 2, to read the next window while it computes one.
   */
  readonly ahead?: number;
  readonly recorder?: RunRecorder | undefined;
}

/**
 * A plan's weights policy, carried out window by window. In a turn:
 *
 *     weights.before(i)   // waits for what is being read of window i, if the policy reads by itself
 *     compute window i, and send the result
 *     weights.after(i)    // gives back what of it isn't pinned, then asks for the next window
 *
 * The order matters: first send, for others wait for it; then drop, for the next window needs the room; then wake the
 * prefetcher. `after` only tells a helper thread, which keeps to that order, and returns at once.
 */
export interface WindowWeights {
  /** What stays in memory for good, bytes. */
  readonly pinnedBytes: number;
  before(window: number): void;
  after(window: number): void;
  /** Gives up what is being read. */
  close(): void;
}

/** Asks for the first windows, too. Pinned parts are read with their window, and then stay. */
export function createWindowWeights(options: WindowWeightsOptions): WindowWeights {
  const { weights, windows, policy, recorder, ahead = 1 } = options;
  const pinned = policy.release === 'pinned' ? pinnedRanges(weights.layout, windows, policy.pinnedBytes) : [];
  const wholes = windows.map((parts) => weights.of(parts));
  const rests = wholes.map(({ name, ranges }): WeightsRanges => ({ name, ranges: withoutRanges(ranges, pinned) }));
  const wanted = new Map<number, WeightsTask>();
  const touched = new Set<number>();
  const faults = createFaultCounter(weights.pages);
  const resident = windows.map(() => 0);
  let start = performance.now() / 1000;
  // What is read explicitly, and waited for, needs no readahead, which would bring back what was just dropped.
  weights.readAhead(policy.prefetch !== 'populate');

  const prefetch = (window: number): void => {
    if (policy.prefetch === 'none' || wanted.has(window)) return;
    // The first time all of it is read, and what is pinned stays.
    const ranges = (touched.has(window) ? rests : wholes)[window] as WeightsRanges;
    touched.add(window);
    wanted.set(window, weights.prefetch(ranges, policy.prefetch));
  };
  /** Of the window that has ended, and the one before, which has been released since. */
  const sample = (window: number): void => {
    if (recorder === undefined) return;
    for (const one of [window, (window + windows.length - 1) % windows.length]) {
      resident[one] = weights.resident(wholes[one] as WeightsRanges);
    }
    const all = resident.reduce((sum, bytes) => sum + bytes, 0);
    recorder.sample('resident weights (bytes)', performance.now() / 1000, all);
  };
  const nameOf = (window: number): string => describeParts(windows[window] as readonly WeightsPart[]);

  for (let window = 0; window < Math.min(ahead, windows.length); window++) prefetch(window);
  return {
    pinnedBytes: totalBytes(pinned),
    before(window) {
      const asked = performance.now() / 1000;
      prefetch(window);
      const task = wanted.get(window);
      wanted.delete(window);
      if (policy.prefetch === 'populate') task?.wait();
      start = performance.now() / 1000;
      faults();
      const span = { lane: 'cpu', cause: 'disk', name: `waits for ${nameOf(window)}`, args: {} } as const;
      if (policy.prefetch === 'populate') recorder?.span({ ...span, start: asked, end: start });
    },
    after(window) {
      const bytes = faults();
      const end = performance.now() / 1000;
      const span = { lane: 'disk', cause: 'disk', name: 'page fault', start, end } as const;
      if (bytes > 0) recorder?.span({ ...span, args: { bytes, what: nameOf(window) } });
      sample(window);
      if (policy.release !== 'none') weights.release(rests[window] as WeightsRanges);
      prefetch((window + ahead) % windows.length);
    },
    close() {
      for (const task of wanted.values()) task.cancel();
      weights.readAhead(true);
    },
  };
}
