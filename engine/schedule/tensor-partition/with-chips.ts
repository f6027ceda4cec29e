import { DEFAULT_RUNTIME } from '../../cost/runtime.ts';
import { createPlan } from '../../plan/create-plan.ts';
import type { Place, Plan, Stage } from '../../plan/plan.ts';
import type { Synchronisation, TensorPartition } from '../../plan/tensor-partition.ts';
import type { Scheduled, SchedulingProblem } from '../scheduler.ts';
import type { ChipSystemName } from './systems.ts';
import { tensorPartition } from './tensor-partition.ts';

export interface WithChipsOptions {
  /** How chips cut operators: `hetero-tensor` unless given. */
  readonly system?: ChipSystemName;
  /** `fast` unless given. */
  readonly synchronisation?: Synchronisation;
}

/**
 * A scheduler of layers that counts every chip with an NPU by its best tensor partition. Each
 * chip's operators are cut first, by HeteroLLM's solver (4.3), which looks at one layer's operators and so needs no
 * knowledge of how many layers the chip will have. The scheduler then plans with the costs of a cut layer, unchanged,
 * and its plan says how every chip's part is cut. A device with CPU and GPU is split by the schedulers themselves:
 * `optimal` searches every boundary of a window, as HELM's Algorithm 1 does of a machine.
 *
 * A scheduler that ranks plans by simulating them is handed, in addition to the problem, what cuts a plan as it will
 * run.
 *
 * When several requests are decoded at once, chips run whole operators on their GPU: cuts are made for one.
 */
export function withChips<Result extends Scheduled>(
  schedule: (problem: SchedulingProblem, cut: (plan: Plan) => Plan) => Result,
  options: WithChipsOptions = {},
): (problem: SchedulingProblem) => Result {
  return (problem) => {
    const partitions: ReadonlyMap<string, TensorPartition> =
      problem.workload.batch === 1 ? bestPartitions(problem, options) : new Map();
    if (partitions.size === 0) return schedule(problem, (plan) => plan);
    const cut = (plan: Plan): Plan => withPartitions(plan, partitions);
    const found = schedule({ ...problem, runtime: { ...(problem.runtime ?? DEFAULT_RUNTIME), partitions } }, cut);
    return found.plan === undefined ? found : { ...found, plan: cut(found.plan) };
  };
}

/** How each chip of a cluster cuts a model's operators best, by device; other devices are left out. */
export function bestPartitions(
  problem: SchedulingProblem,
  options: WithChipsOptions = {},
): ReadonlyMap<string, TensorPartition> {
  const partitions = new Map<string, TensorPartition>();
  for (const { name, soc } of problem.belief.devices) {
    if (soc === undefined) continue;
    const partition = tensorPartition(problem, { ...options, device: name }).plan?.stages[0]?.partition;
    if (partition !== undefined) partitions.set(name, partition);
  }
  return partitions;
}

/** The plan, with all that it gives to the GPU of a chip cut between GPU and NPU. */
export function withPartitions(plan: Plan, partitions: ReadonlyMap<string, TensorPartition>): Plan {
  const cut = <Placed extends Place>(place: Placed): Placed => {
    const partition = place.processor === 'gpu' ? partitions.get(place.device) : undefined;
    return partition === undefined ? place : { ...place, partition };
  };
  const stages: readonly Stage[] = plan.stages;
  return createPlan({ ...plan, stages: stages.map(cut), output: cut(plan.output) });
}
