import type { Plan } from '../../../engine/plan/plan.ts';
import type { Comparison } from '../comparison.ts';
import { layersOnCpu } from './answer.ts';
import type { HelmQuantity } from './quantities.ts';

/** What is aimed at for a group of cells: the largest error. */
export interface HelmTarget {
  readonly name: string;
  readonly limit: number;
}

const VLLM_TARGET: HelmTarget = { name: 'vLLM', limit: 0.03 };
const ALL_GPU_TARGET: HelmTarget = { name: 'all on the GPU', limit: 0.13 };
const SPLIT_TARGET: HelmTarget = { name: 'split, RTX 4060', limit: 0.12 };
const FIRST_TARGET: HelmTarget = { name: 'TTFT of splits', limit: 0.12 };
export const SCALING_TARGET: HelmTarget = { name: 'scaling with the batch', limit: 0.1 };

/** The target that holds for a quantity under the plan it runs with; undefined where nothing is aimed at. */
export function targetOf({ system, kind, machine, batch }: HelmQuantity, plan: Plan): HelmTarget | undefined {
  if (kind === 'cpu-stage' || batch > 1) return undefined;
  if (system === 'vllm') return kind === 'token' ? VLLM_TARGET : undefined;
  if (system !== 'helm') return undefined;
  const isSplit = layersOnCpu(plan) > 0;
  if (kind === 'first') return isSplit ? FIRST_TARGET : undefined;
  if (!isSplit) return ALL_GPU_TARGET;
  return machine === 'helm-4060' ? SPLIT_TARGET : undefined;
}

/**
 * `within noise`: the target is missed, but between what the thesis prints of the same quantity; `excluded`: it is kept at
 * most prints of the quantity, and no answer keeps it at these and at this one.
 */
export type Verdict = 'kept' | 'within noise' | 'excluded' | 'missed';

/** What a verdict is about, in any unit. */
export interface Judged extends Pick<Comparison, 'predicted' | 'published' | 'target'> {
  /** Ends of what the thesis prints of the quantity, rounding included. */
  readonly range: readonly [number, number] | undefined;
  /** What the thesis prints of the quantity, the cell itself among it. */
  readonly prints: readonly number[];
}

/** Whether a prediction keeps its target; undefined without one. */
export function verdictOf({ predicted, published, target, range, prints }: Judged): Verdict | undefined {
  if (target === undefined || typeof predicted !== 'number' || typeof published !== 'number') return undefined;
  const isKept = (print: number): boolean => Math.abs(predicted / print - 1) <= target;
  if (isKept(published)) return 'kept';
  if (range !== undefined && range[0] <= predicted && predicted <= range[1]) return 'within noise';
  const kept = prints.filter(isKept);
  const [least, most] = [Math.min(...kept, published), Math.max(...kept, published)];
  const excludes = most * (1 - target) > least * (1 + target);
  return kept.length > prints.length / 2 && excludes ? 'excluded' : 'missed';
}
