import type { ReclaimPolicy } from '../../engine/cost/reclaim.ts';
import type { Runtime } from '../../engine/cost/runtime.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import type { Model } from '../../engine/model/model.ts';
import type { Workload } from '../../engine/model/workload.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import { simulate } from '../../simulator/simulate.ts';

/** Inputs with which a plan is simulated. */
export interface SimulatedCase {
  readonly truth: Cluster;
  readonly model: Model;
  readonly plan: Plan;
  readonly workload: Workload;
  readonly runtime?: Runtime;
  readonly reclaim: ReclaimPolicy;
}

/** Tokens decoded; the first half finds memories as the prompt left them, and does not count. */
const TOKENS = 4;

/**
 * TPOT of a plan in steady state by simulation, seconds, at the workload's context; `undefined` if the run ends for want
 * of memory. Operating systems reclaim in their own ways, or reload the overflow only where predictions do; that
 * prefetched weights are loaded twice (`double`) is an event of the simulation, not a policy.
 */
export type SimulatedTpot = (given: SimulatedCase) => number | undefined;

/** Simulates each distinct case once: several schedulers often make the same plan. */
export function createSimulatedTpot(): SimulatedTpot {
  const known = new Map<string, number | undefined>();
  return (given) => {
    const { truth, model, plan, workload, runtime, reclaim } = given;
    const { devices, links } = truth;
    const key = JSON.stringify([
      ...[model.name, model.mix, { ...plan, scheduler: '' }, workload, runtime, reclaim, devices],
      ...[links.default, [...links.pairs]],
    ]);
    if (!known.has(key)) known.set(key, simulatedTpot(given));
    return known.get(key);
  };
}

function simulatedTpot({ truth, model, plan, workload, runtime, reclaim }: SimulatedCase): number | undefined {
  const { trace, outOfMemory } = simulate({
    cluster: truth,
    model,
    plan,
    workload: { ...workload, promptTokens: 1, outputTokens: TOKENS },
    ...(runtime && { runtime }),
    reclaim: reclaim === 'overflow' ? 'overflow' : 'os',
    context: 'fixed',
    record: 'tokens',
  });
  if (outOfMemory.length > 0) return undefined;
  const decoded = trace.tokens.filter(({ phase }) => phase === 'decode');
  const steady = decoded.slice(-TOKENS / 2);
  return steady.reduce((sum, { start, end }) => sum + end - start, 0) / steady.length;
}
