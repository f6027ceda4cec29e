import { z } from 'zod';
import { type Cluster, createCluster } from '../../engine/hardware/cluster.ts';
import type { Model } from '../../engine/model/model.ts';
import type { Workload } from '../../engine/model/workload.ts';
import { type Evaluate, RESULT_TEXT } from '../sweep/sweep.ts';
import { evenRounds, POLICIES, type Policy, RECLAIMS, type Reclaim, simulateRounds } from './rounds.ts';

export interface RoundsPoints {
  readonly cluster: Omit<Cluster, 'link'>;
  readonly models: readonly Model[];
  readonly reclaims: readonly Reclaim[];
  readonly mostRounds: number;
  readonly workload: Workload;
}

/** One simulation: a point. */
export interface RoundsJob {
  readonly reclaim: Reclaim;
  readonly model: Model;
  readonly policy: Policy;
  readonly rounds: number;
}

/** The points in their order. */
export function roundsJobs({ cluster, models, reclaims, mostRounds }: RoundsPoints): RoundsJob[] {
  return reclaims.flatMap((reclaim) =>
    models.flatMap((model) =>
      POLICIES.flatMap((policy) =>
        evenRounds(model, cluster.devices.length, mostRounds).map((rounds) => ({ reclaim, model, policy, rounds })),
      ),
    ),
  );
}

export const RESULT = z.strictObject({
  model: RESULT_TEXT,
  mix: RESULT_TEXT,
  bytes: z.number().positive(),
  policy: RESULT_TEXT,
  reclaim: z.enum(RECLAIMS),
  rounds: z.int().positive(),
  seconds: z.number().positive().optional(),
  readBytes: z.number().nonnegative(),
  reason: RESULT_TEXT,
});

export default function createEvaluate(points: unknown): Evaluate {
  const { workload, ...parts } = points as RoundsPoints;
  const cluster = createCluster(parts.cluster);
  const jobs = roundsJobs({ workload, ...parts });
  return (point) => {
    const { model, policy, rounds, reclaim } = jobs[point] as RoundsJob;
    return simulateRounds(model, policy, rounds, { cluster, workload, reclaim });
  };
}
