import type { SchedulerName } from '../../../engine/schedule/registry.ts';
import type { MarkSymbol } from './chart.ts';
import { colour, INK } from './colours.ts';

/** The look of a scheduler in charts. */
export interface SchedulerMark {
  readonly colour: string;
  readonly symbol: MarkSymbol;
}

/** The published system of a scheduler has its colour and mark, dashed and hollow. `hand`: a plan that somebody wrote. */
const MARKS: Readonly<Record<SchedulerName | 'hand', SchedulerMark>> = {
  halda: { colour: colour(0), symbol: 'circle' },
  'halda-repaired': { colour: colour(5), symbol: 'square' },
  'halda-program': { colour: colour(0), symbol: 'triangle-down' },
  optimal: { colour: INK, symbol: 'diamond' },
  milp: { colour: colour(7), symbol: 'x' },
  'ring-aware': { colour: colour(6), symbol: 'circle' },
  'memory-ratio': { colour: colour(1), symbol: 'triangle-up' },
  'compute-ratio': { colour: colour(4), symbol: 'triangle-down' },
  'single-device': { colour: colour(2), symbol: 'star' },
  'cpu-gpu-split': { colour: colour(3), symbol: 'cross' },
  exo: { colour: colour(1), symbol: 'triangle-down' },
  dllama: { colour: colour(6), symbol: 'square' },
  'expert-parallel': { colour: colour(5), symbol: 'diamond' },
  'zero-inference': { colour: colour(3), symbol: 'triangle-up' },
  accelerate: { colour: colour(3), symbol: 'diamond' },
  'tensor-partition': { colour: colour(2), symbol: 'square' },
  vllm: { colour: colour(4), symbol: 'circle' },
  'helm-devices': { colour: colour(3), symbol: 'x' },
  'helm-ring': { colour: colour(3), symbol: 'circle' },
  hand: { colour: colour(6), symbol: 'star' },
};

/** The look of a scheduler, or of a plan by hand, in every chart; others than those above look alike. */
export function markOf(scheduler: string): SchedulerMark {
  return MARKS[scheduler as SchedulerName | 'hand'] ?? { colour: colour(1), symbol: 'square' };
}
