import { loadPublished } from '../../datasets/load.ts';
import type { ReclaimPolicy } from '../../engine/cost/reclaim.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import { loadIntegerSolver } from '../../engine/schedule/integer-solver.ts';
import type { SchedulerName } from '../../engine/schedule/registry.ts';
import type { Progress } from '../../engine/terminal/progress.ts';
import type { SweepInputs } from './inputs.ts';
import type { OwnScheduler } from './own-scheduler.ts';
import type { ClusterResults } from './results.ts';
import { createSimulatedTpot } from './simulated.ts';
import { subsetsWithHead, sweepSubsets } from './subsets.ts';
import { informedRows, type SweepCase, sweepCluster } from './sweep.ts';
import { testbedSettings } from './testbed-settings.ts';

/** Tokens in the KV cache on devices of one's own. */
export const DEFAULT_CONTEXT = 1024;

/** Time limit of one integer program, seconds; those of a home take well under one second. */
const SOLVER_SECONDS = 20;

export interface SweepSettings {
  readonly schedulers: readonly SchedulerName[];
  readonly ownScheduler: OwnScheduler | undefined;
  readonly context: number | undefined;
  readonly reclaim: ReclaimPolicy;
  /** Reclaim policy that the schedulers assume; as their papers do unless given. */
  readonly believedReclaim: ReclaimPolicy | undefined;
  readonly maxPressure: number | undefined;
}

/** Every cluster in turn, with one progress bar for all of them. */
export async function sweepClusters(
  { clusters, models, handPlan }: SweepInputs,
  {
    schedulers,
    ownScheduler,
    context,
    reclaim,
    believedReclaim,
    maxPressure,
    progress,
  }: SweepSettings & { readonly progress: (steps: number) => Progress },
): Promise<ClusterResults[]> {
  const solver = await loadIntegerSolver(SOLVER_SECONDS);
  const cells = loadPublished();
  const sets = clusters.map(({ truth, subsets }) =>
    subsets ? subsetsWithHead(truth.devices.map(({ name }) => name)).length : 0,
  );
  const { step } = progress(
    sets.reduce((sum, tried) => sum + models.length * (schedulers.length + (ownScheduler ? 1 : 0)) + tried, 0),
  );
  const simulatedTpot = createSimulatedTpot();
  const largest = [...models].sort((one, other) => other.model.bytes - one.model.bytes)[0];
  try {
    return clusters.map(({ testbed, truth, belief, whole, subsets }) => {
      const workload = createWorkload({ context: context ?? DEFAULT_CONTEXT });
      const published = whole ? cells : [];
      const settings =
        testbed === undefined || context !== undefined || !whole
          ? undefined
          : testbedSettings({ testbed, stated: belief, published });
      const shared = {
        truth,
        belief,
        models,
        schedulers,
        ownScheduler,
        handPlan,
        workload,
        reclaim,
        believedReclaim,
        maxPressure,
        solver,
        published,
      };
      const given: SweepCase = { ...shared, settings };
      const rows = sweepCluster({ ...given, simulatedTpot }, step);
      const informed = informedRows({ ...given, simulatedTpot });
      if (!subsets || largest === undefined) return { cluster: truth.name, rows, informed, subsets: undefined };
      return {
        cluster: truth.name,
        rows,
        informed,
        subsets: { model: largest.label, rows: sweepSubsets(given, largest, step) },
      };
    });
  } finally {
    solver.dispose();
  }
}
