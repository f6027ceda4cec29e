import { type DeviceBreakdown, totalSeconds } from '../engine/cost/breakdown.ts';
import { predict } from '../engine/cost/predict.ts';
import { chipPartitions, type Plan } from '../engine/plan/plan.ts';
import { NO_WEIGHTS_POLICY, type WeightsPolicy } from '../engine/plan/weights-policy.ts';
import { DEFAULT_EXTENT_BYTES } from '../simulator/page-cache/page-cache.ts';
import { planningProblem, type Question } from './question.ts';

/**
 * Seconds that no simulation of a plan is faster than. 0 where computing overlaps with other things. The larger of
 * - the token's way through the devices without their disks, and what disks take longer than their devices compute where
 *   nothing is read before it is used;
 * - for every device, the reading of what it can't keep.
 * @param others the same plan with other weights policies: none of those that take each device's policy from any of these
 * plans is faster
 */
export function leastSeconds(question: Question, plan: Plan, others: readonly Plan[] = []): number {
  if (plan.kind === 'chip' || chipPartitions(plan).size > 0) return 0;
  const { cluster, model, workload } = question;
  const { belief, runtime } = planningProblem({ belief: cluster, model, workload });
  const asked = { truth: belief, model, workload, runtime, reclaim: 'overflow' } as const;
  const { seconds, devices } = predict({ ...asked, plan });
  if (plan.kind === 'tensor-parallel') return totalSeconds({ ...seconds, link: 0 });
  const disks = new Map(cluster.devices.map(({ name, disk }) => [name, disk.sequential]));
  const reads = [
    { plan, devices },
    ...others.map((other) => ({ plan: other, devices: predict({ ...asked, plan: other }).devices })),
  ];
  let [waited, longest] = [0, 0];
  for (const [index, { device }] of devices.entries()) {
    const own = reads.map(({ plan, devices }) =>
      diskSeconds(plan, devices[index] as DeviceBreakdown, disks.get(device) ?? Number.POSITIVE_INFINITY),
    );
    longest = Math.max(longest, Math.min(...own.map(({ reading }) => reading)));
    waited += Math.min(...own.map(({ waiting }) => waiting));
  }
  return Math.max(totalSeconds({ ...seconds, disk: 0 }) + waited, longest);
}

/** Seconds for which a device reads at least, and for which its computing waits for that at least. */
function diskSeconds(
  plan: Plan,
  one: DeviceBreakdown,
  rate: number,
): { readonly reading: number; readonly waiting: number } {
  const { prefetch, experts } = policyOf(plan, one);
  const reading = leastRead(plan, one) / rate;
  const isAhead = prefetch !== 'none' || experts !== undefined;
  return { reading, waiting: isAhead ? 0 : Math.max(0, reading - totalSeconds({ ...one.seconds, disk: 0 })) };
}

/**
 * Bytes that a device reads for every token at least: what its memory has no room for or, where its policy releases what
 * isn't pinned, all of that; extents of the page cache at the ends of windows may stay.
 */
function leastRead(plan: Plan, one: DeviceBreakdown): number {
  const { reloadedBytes, ramBytes, ramAvailable, windows } = one;
  const { release, experts } = policyOf(plan, one);
  if (release === 'none' || experts !== undefined) return Math.min(ramBytes - ramAvailable, reloadedBytes);
  return Math.max(0, reloadedBytes - 2 * (windows + 1) * DEFAULT_EXTENT_BYTES);
}

function policyOf({ weights }: Plan, { device }: DeviceBreakdown): WeightsPolicy {
  return weights[device] ?? NO_WEIGHTS_POLICY;
}
