import type { MappedWeights, WeightsRanges, WeightsRecorder } from './mapped-weights.ts';
import { createMemoryCounters } from './process-counters.ts';
import type { WeightsPart } from './weights-layout.ts';

/** Records the resident bytes of each part of the windows, and the operating system's counters. */
export interface WindowResidency {
  /** Called after a window: samples it and the previous one, which has been released since. */
  sample(window: number): void;
}

/** Uses mincore, which takes 12 to 30 ms per GiB, so only with a recorder. */
export function createWindowResidency(
  weights: MappedWeights,
  windows: readonly (readonly WeightsPart[])[],
  recorder: WeightsRecorder,
): WindowResidency {
  const parts = windows.map((own) => own.map((part) => ({ part, ranges: weights.of([part]) })));
  const resident = new Map<WeightsPart, number>();
  const counts = createMemoryCounters();
  const look = ({ part, ranges }: { readonly part: WeightsPart; readonly ranges: WeightsRanges }): void => {
    const bytes = weights.resident(ranges);
    resident.set(part, bytes);
    recorder.sample(`resident weights of ${ranges.name} (bytes)`, performance.now() / 1000, bytes);
  };
  return {
    sample(window) {
      for (const one of new Set([window, (window + windows.length - 1) % windows.length]))
        for (const part of parts[one] ?? []) look(part);
      const now = performance.now() / 1000;
      const all = [...resident.values()].reduce((sum, bytes) => sum + bytes, 0);
      recorder.sample('resident weights (bytes)', now, all);
      for (const [name, value] of Object.entries(counts())) recorder.sample(name, now, value);
    },
  };
}
