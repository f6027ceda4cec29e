import type { Plan } from '../../../engine/plan/plan.ts';
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
