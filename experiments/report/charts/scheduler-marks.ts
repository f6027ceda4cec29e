import { colour, INK, type MarkSymbol } from './chart.ts';

/** The look of a scheduler in charts. */
export interface SchedulerMark {
  readonly colour: string;
  readonly symbol: MarkSymbol;
}

/** One look per scheduler in all charts; the published system of a scheduler has its colour, dashed and hollow. */
const MARKS: Readonly<Record<string, SchedulerMark>> = {
  halda: { colour: colour(0), symbol: 'circle' },
  'halda-repaired': { colour: colour(5), symbol: 'square' },
  optimal: { colour: INK, symbol: 'diamond' },
  milp: { colour: colour(7), symbol: 'x' },
  'memory-ratio': { colour: colour(1), symbol: 'triangle-up' },
  'compute-ratio': { colour: colour(4), symbol: 'triangle-down' },
  'single-device': { colour: colour(2), symbol: 'star' },
  'cpu-gpu-split': { colour: colour(3), symbol: 'cross' },
  exo: { colour: colour(1), symbol: 'triangle-down' },
  dllama: { colour: colour(6), symbol: 'square' },
  'zero-inference': { colour: colour(3), symbol: 'triangle-up' },
  accelerate: { colour: colour(3), symbol: 'diamond' },
  'ring-aware': { colour: colour(6), symbol: 'circle' },
  hand: { colour: colour(6), symbol: 'star' },
};

/** The look of a scheduler in every chart. */
export function markOf(scheduler: string): SchedulerMark {
  return MARKS[scheduler] ?? { colour: INK, symbol: 'circle' };
}
