import type { MappedWeights, WeightsRanges, WeightsRecorder } from './mapped-weights.ts';
import { createMemoryCounters } from './process-counters.ts';
import type { WeightsPart } from './weights-layout.ts';

/** Writes down what of each part of some windows is in memory, and what the kernel counts. */
export interface WindowResidency {
  /** When a window has ended: of it, and of the one before, which has been released since. */
  sample(window: number): void;
}

/** Sampled by mincore, which takes 12 to 30 ms per GiB: only with a recorder. */
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
