import { plannedExperts } from '../cost/experts/case-of-plan.ts';
import { memoryShares } from '../cost/experts/memory-shares.ts';
import { predict } from '../cost/predict.ts';
import type { Plan } from '../plan/plan.ts';
import { expertLayersOf } from '../plan/validate-experts.ts';
import type { WeightsPolicy } from '../plan/weights-policy.ts';
import { stagesByDevice } from '../plan/windows.ts';
import type { SchedulingProblem } from './scheduler.ts';

type Problem = Pick<SchedulingProblem, 'belief' | 'model' | 'workload'>;
type Experts = NonNullable<WeightsPolicy['experts']>;

/**
 * A scheduler's plan whose devices go on caching experts as an earlier plan says, since schedulers know of no caches: a
 * device keeps its policy, and one without that would read weights for every token takes the first other. A number of
 * slots that its memory has no room for with its new layers becomes as many as fit. Devices whose GPU has layers or the
 * output, and those where not even a token's experts fit, stay as scheduled.
 * @param problem its belief is what devices report
 */
export function withKeptExperts(problem: Problem, plan: Plan, earlier: Plan): Plan {
  const policies = new Map(
    Object.entries(earlier.weights).flatMap(([device, { experts }]) => (experts ? [[device, experts] as const] : [])),
  );
  const [first] = policies.values();
  if (first === undefined || (plan.kind !== 'ring' && plan.kind !== 'split')) return plan;
  const { belief, model, workload } = problem;
  const { devices } = predict({ plan, truth: belief, model, workload, reclaim: 'lru' });
  const reading = new Set(devices.flatMap(({ device, reloadedBytes }) => (reloadedBytes > 0 ? [device] : [])));
  return [...stagesByDevice(plan)].reduce<Plan>((own, [device, stages]) => {
    const kept = policies.get(device) ?? (reading.has(device) ? first : undefined);
    const isOnGpu = [plan.output, ...stages].some((place) => place.device === device && place.processor !== 'cpu');
    if (kept === undefined || isOnGpu) return own;
    const layers = stages.map(({ from, to }) => expertLayersOf(model, from, to));
    const policy = fittingPolicy(problem, own, device, kept, layers);
    return policy === undefined ? own : withPolicy(own, device, policy);
  }, plan);
}

/** The policy with its own slots, else with as many as fit; `undefined` if a device can't cache experts at all. */
function fittingPolicy(
  { belief: cluster, model, workload }: Problem,
  plan: Plan,
  device: string,
  policy: Experts,
  layers: readonly ReturnType<typeof expertLayersOf>[],
): Experts | undefined {
  const count = layers.reduce((sum, one) => sum + one.layers, 0);
  const { used = 0, experts = 0 } = layers.find((one) => one.layers > 0) ?? {};
  const most = policy.pool === 'all' ? count * experts : experts;
  const isPossible = (slots: Experts['slots']): boolean => slots === 'fit' || (slots >= used && slots <= most);
  return [policy.slots, 'fit' as const]
    .filter(isPossible)
    .map((slots): Experts => ({ ...policy, slots }))
    .find((one) => {
      const planned = plannedExperts({ plan: withPolicy(plan, device, one), cluster, model, workload });
      const own = planned.find((found) => found.device === device);
      return own !== undefined && memoryShares(own.one).shortage === undefined;
    });
}

function withPolicy(plan: Plan, device: string, experts: Experts): Plan {
  const policy: WeightsPolicy = { prefetch: 'none', release: 'none', experts };
  return { ...plan, weights: { ...plan.weights, [device]: policy } };
}
