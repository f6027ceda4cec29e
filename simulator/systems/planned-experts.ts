import { infeasibility } from '../../engine/cost/breakdown.ts';
import { type PlannedExperts, plannedExperts } from '../../engine/cost/experts/case-of-plan.ts';
import type { PassSeconds } from '../../engine/cost/experts/experts-case.ts';
import { drawnRouting } from '../../engine/experts/drawn-routings.ts';
import { routingShape } from '../../engine/experts/routing.ts';
import type { Device } from '../../engine/hardware/device.ts';
import { InputError } from '../../engine/input/input-error.ts';
import type { SplitPlan } from '../../engine/plan/plan.ts';
import { DEFAULT_SEED, type SimulationParts } from '../options.ts';
import type { SimulationResult } from '../result.ts';
import { simulateExperts } from './experts.ts';

/** Tokens of a routing that is drawn, before it begins anew. */
const DRAWN_TOKENS = 256;

/** Options that a simulation of experts doesn't know. */
const UNKNOWN = ['frames', 'paging', 'noise', 'memoryTaken', 'files', 'times'] as const;

/** Whether an option asks for something: 0 and nothing at all don't. */
function isAsked(value: unknown): boolean {
  return typeof value === 'object' && value !== null
    ? Object.keys(value).length > 0
    : value !== 0 && value !== undefined;
}

/**
 * Simulates a plan whose only device caches and reads experts. The context is the workload's at every token.
 * @throws InputError for a routing of another shape, and an option that isn't simulated with experts
 */
export function simulatePlannedExperts(parts: SimulationParts & { readonly plan: SplitPlan }): SimulationResult {
  const { cluster, model, plan, workload, runtime, seed = DEFAULT_SEED, throttle, record = 'spans', isEnough } = parts;
  for (const option of UNKNOWN)
    if (isAsked(parts[option]) && parts[option] !== 'whole')
      throw new InputError(option, 'is not simulated for a plan that says how experts are cached; leave it out');
  const planned = plannedExperts({ plan, cluster, model, workload, runtime });
  if (planned === undefined) throw new RangeError('the plan has no policy for experts');
  const { device, one } = planned;
  const { layers, experts, used } = one.mixture;
  const routing = parts.routing ?? drawnRouting(planned.routing, { tokens: DRAWN_TOKENS, layers, used, seed });
  if (routing.layers !== layers || routing.experts !== experts || routing.used !== used)
    throw new InputError(
      'routing',
      `has ${routingShape(routing)}; ${model.name} has ${routingShape({ layers, experts, used })}`,
    );
  const { promptTokens, outputTokens } = workload;
  const { speculation } = parts;
  const secondsOf = (verifiedTokens: number): PassSeconds =>
    (plannedExperts({ plan, cluster, model, workload, runtime, verifiedTokens }) as PlannedExperts).one.seconds;
  const run = simulateExperts({
    ...{ device, one, routing, promptTokens, outputTokens, record, isEnough, warm: parts.warm ?? false },
    ...(speculation && { drafts: { speculation, seed, secondsOf: known(secondsOf) } }),
    ...(throttle && { throttle }),
  });
  const { memory } = cluster.devices.find(({ name }) => name === device) as Device;
  const own = one.memory.buffers + run.allSlots * one.mixture.expertBytes;
  const fixed = own + (one.memory.dense === 'anonymous' ? one.mixture.denseBytes : 0);
  if (run.shortage !== undefined) {
    const shortage = infeasibility(device, 'ram', `experts: ${run.shortage};`, fixed, one.memory.available);
    return { outOfMemory: [shortage], trace: run.trace, devices: [], seconds: 0 };
  }
  return {
    outOfMemory: [],
    trace: run.trace,
    seconds: run.seconds,
    devices: [
      {
        ...{ device, cache: run.cache, counters: run.pageCounters, diskSeconds: run.diskSeconds },
        ...{ stallSeconds: run.stallSeconds, nonReclaimableBytes: fixed, memoryTotal: memory.total },
        ...{
          faultedBytes: run.totals.bytes + run.totals.denseBytes - run.guessedBytes,
          prefetchedBytes: run.guessedBytes,
        },
      },
    ],
  };
}

/** A function of a number whose values are computed once. */
function known<Value>(of: (count: number) => Value): (count: number) => Value {
  const values = new Map<number, Value>();
  return (count) => {
    const value = values.get(count) ?? of(count);
    values.set(count, value);
    return value;
  };
}
