import type { StageHooks } from './stage-hooks.ts';
import { stagePart } from './stage-part.ts';
import type { WeightsPart } from './weights/weights-layout.ts';
import type { WindowWeights } from './weights/window-weights.ts';

/** Carries out a weights policy while a transformer runs: `before` a window's first part, `after` its last. */
export function windowHooks(windows: readonly (readonly WeightsPart[])[], weights: WindowWeights): StageHooks {
  const first = new Map(windows.map((parts, window) => [parts[0], window]));
  const last = new Map(windows.map((parts, window) => [parts.at(-1), window]));
  return {
    before(stage) {
      const window = first.get(stagePart(stage));
      if (window !== undefined) weights.before(window);
    },
    after({ name }) {
      const window = last.get(stagePart(name));
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
