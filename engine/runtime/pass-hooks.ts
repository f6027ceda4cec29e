import type { PartTime } from './transformer.ts';
import type { WeightsPart } from './weights/weights-layout.ts';
import type { WindowWeights } from './weights/window-weights.ts';

/** Called before and after each part of a forward pass. Parts then run one by one, which costs some microseconds each. */
export interface PassHooks {
  /** Called before a part runs; its weights must be in memory when this returns. */
  before?(part: PartTime['name']): void;
  after?(part: PartTime): void;
}

/** Calls all hooks, in order; `undefined` without any. */
export function joinHooks(hooks: readonly PassHooks[]): PassHooks | undefined {
  if (hooks.length === 0) return undefined;
  return {
    before(part) {
      for (const hook of hooks) hook.before?.(part);
    },
    after(part) {
      for (const hook of hooks) hook.after?.(part);
    },
  };
}

/** The weights that a part of a forward pass uses. */
export function weightsPartOf(part: PartTime['name']): WeightsPart {
  if (part === 'embedding' || part === 'output') return part;
  return Number(part.slice('layer '.length));
}

/** Carries out a weights policy while a transformer runs: `before` a window's first part, `after` its last. */
export function windowHooks(windows: readonly (readonly WeightsPart[])[], weights: WindowWeights): PassHooks {
  const first = new Map(windows.map((parts, window) => [parts[0], window]));
  const last = new Map(windows.map((parts, window) => [parts.at(-1), window]));
  return {
    before(part) {
      const window = first.get(weightsPartOf(part));
      if (window !== undefined) weights.before(window);
    },
    after({ name }) {
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
