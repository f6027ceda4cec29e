import type { Testbed } from '../../../datasets/testbeds.ts';
import { predict } from '../../../engine/cost/predict.ts';
import type { IntegerSolver } from '../../../engine/schedule/integer-solver.ts';
import { type Job, withPrefetch } from './execute.ts';
import { OPERATING_SYSTEMS, withMemory } from './machines.ts';
import { planWith } from './planners.ts';

/** Half of the last digit of Table 3's memories, bytes. */
const HALF_DIGIT = 0.05 * 2 ** 30;

/**
 * The least and the most seconds per token over the memories that round to what the paper prints, one device at a time at
 * both ends of its digit: where that flips the plan, the answer is a range. Memory that is inferred stays as it is, and
 * schedulers see the printed one. Undefined where no memory is printed as a program's report, or no plan is found.
 */
export function digitRange(
  testbed: Pick<Testbed, 'stated' | 'unknowns'>,
  job: Job,
  solver: IntegerSolver,
): readonly [low: number, high: number] | undefined {
  if (testbed.stated !== 'reported') return undefined;
  const { policy, version, model, workload, runtime } = job;
  const inferred = testbed.unknowns.flatMap((one) => (one.kind === 'ram' ? one.devices : []));
  const found = job.belief.devices.flatMap(({ name, memory: { available } }, index) =>
    [-HALF_DIGIT, HALF_DIGIT].flatMap((change): number[] => {
      const belief = withMemory(job.belief, name, available + change);
      const share = (job.truth.devices[index]?.memory.available ?? available) / available;
      const truth = inferred.includes(name) ? job.truth : withMemory(job.truth, name, share * (available + change));
      const { plan } = planWith(policy.planner, { belief, model, workload, runtime }, version, solver);
      if (plan === undefined) return [];
      const prefetching = withPrefetch(plan, policy.prefetch);
      const reclaim = OPERATING_SYSTEMS.predicted;
      return [predict({ plan: prefetching, truth, model, workload, reclaim, runtime }).tokenSeconds];
    }),
  );
  return found.length === 0 ? undefined : [Math.min(...found), Math.max(...found)];
}
