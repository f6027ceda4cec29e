import { predict } from '../engine/cost/predict.ts';
import { InputError } from '../engine/input/input-error.ts';
import { cachesExperts } from '../engine/plan/plan.ts';
import { validatePlan } from '../engine/plan/validate-plan.ts';
import { checkOptions, type SimulationParts } from './options.ts';
import type { SimulationResult } from './result.ts';
import { simulateChip } from './systems/chip.ts';
import { simulateExpertParallel } from './systems/expert-parallel.ts';
import { simulatePlannedExperts } from './systems/planned-experts.ts';
import { simulateRing } from './systems/ring.ts';
import { simulateTensorParallel } from './systems/tensor-parallel.ts';

/**
 * Replays a plan event by event. The simulation knows what closed forms leave out: overlap, the page cache, prefetching
 * and its release.
 * @throws InputError if the plan doesn't fit the cluster and the model, an option is invalid, or experts are read from disks
 */
export function simulate(parts: SimulationParts): SimulationResult {
  const { cluster, model, plan, workload, context = 'growing' } = parts;
  validatePlan(plan, cluster, model);
  checkOptions(parts, cluster);
  if ((plan.kind === 'split' || plan.kind === 'ring') && cachesExperts(plan))
    return simulatePlannedExperts({ ...parts, plan });
  if (parts.routing !== undefined && plan.kind !== 'expert-parallel')
    throw new InputError(
      'routing',
      'has no effect: no device of the plan says how experts are cached ("weights": {"…": {"experts": …}}), or holds some of them ("holders")',
    );
  if (plan.kind !== 'expert-parallel') checkExperts(parts);
  if (parts.frames !== undefined && plan.kind !== 'chip') {
    throw new InputError('frames', `has no effect on a plan of kind "${plan.kind}"; only a chip’s GPU has a queue`);
  }
  if (parts.paging !== undefined && plan.stages.some(({ cpuExperts }) => cpuExperts !== undefined))
    throw new InputError('paging', 'is not simulated for GPU layers whose experts are on the CPU; leave it out');
  if (parts.speculation !== undefined && plan.kind !== 'ring' && plan.kind !== 'split')
    throw new InputError('speculation', `is not simulated for a plan of kind "${plan.kind}"; allowed: ring, split`);
  const contextOf = (index: number): number =>
    context === 'fixed' ? workload.context : workload.promptTokens + Math.max(0, index - 1);
  switch (plan.kind) {
    case 'ring':
    case 'split':
      return simulateRing({ ...parts, plan }, contextOf);
    case 'tensor-parallel':
      return simulateTensorParallel({ ...parts, plan }, contextOf);
    case 'expert-parallel':
      return simulateExpertParallel({ ...parts, plan }, contextOf);
    case 'chip':
      return simulateChip({ ...parts, plan }, contextOf);
  }
}

/** Without a policy for experts the simulation reads whole layers, since it doesn't know which experts tokens use. */
function checkExperts({ cluster, model, plan, workload, runtime }: SimulationParts): void {
  if (model.layer.routed.length === 0) return;
  const reading = predict({ plan, truth: cluster, model, workload, reclaim: 'lru', ...(runtime && { runtime }) })
    .devices.filter(({ reloadedBytes }) => reloadedBytes > 0)
    .map(({ device }) => device);
  if (reading.length > 0)
    throw new InputError(
      `model ${model.name}`,
      `has experts, which ${reading.join(', ')} would read from a disk; that is simulated where the plan says how experts are cached: "weights": {"…": {"experts": …}}`,
    );
}
