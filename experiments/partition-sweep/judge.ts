import { createRingPredictor } from '../../engine/cost/ring.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import { InputError } from '../../engine/input/input-error.ts';
import type { Model } from '../../engine/model/model.ts';
import type { Workload } from '../../engine/model/workload.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import { simulatedReclaim } from '../../simulator/options.ts';
import { areEnough, LONGEST, steadyMean, steadySeconds } from '../../simulator/steady-seconds.ts';
import { createRingComposer } from '../../simulator/systems/composed-ring.ts';
import type { Reclaim } from '../rounds/rounds.ts';

/** The times of a plan, or the reason why it can't be run. */
export type Judged =
  /** TPOT in the steady state, seconds: simulated, and by the closed forms (reclaim `overflow`). */
  { readonly seconds: number; readonly predicted: number } | { readonly failed: string };

export interface JudgeParts {
  readonly cluster: Cluster;
  readonly model: Model;
  /** Only batch and context count: the KV cache is held at the context's size. */
  readonly workload: Workload;
  readonly reclaim: Reclaim;
}

/**
 * A judge of plans, for one cluster and model; it never throws for a plan that can't be run. Rings are composed of
 * their devices, which remember what they did in other plans.
 */
export function createJudge(parts: JudgeParts): (plan: Plan) => Judged {
  const predict = createRingPredictor(parts.cluster, parts.model, parts.workload);
  const compose = createRingComposer({ ...parts, reclaim: simulatedReclaim(parts.reclaim) });
  return (plan) => {
    try {
      const tokens = compose(plan, (seconds) => seconds.length >= LONGEST.outputTokens || areEnough(plan, seconds));
      const seconds = tokens === undefined ? wholeSeconds(parts, plan) : steadyMean(plan, tokens);
      if (typeof seconds === 'string') return { failed: seconds };
      return { seconds, predicted: predict(plan).tokenSeconds };
    } catch (error) {
      const kind = error instanceof InputError ? 'invalid' : 'simulation failed';
      return { failed: `${kind}: ${error instanceof Error ? error.message : String(error)}` };
    }
  };
}

/** TPOT of a valid plan that is simulated as a whole, after a prompt of one token. */
export function wholeSeconds({ cluster, model, workload, reclaim }: JudgeParts, plan: Plan): number | string {
  const afterOne = { ...workload, promptTokens: 1 };
  return steadySeconds({ cluster, model, workload: afterOne, reclaim: simulatedReclaim(reclaim) }, plan);
}
