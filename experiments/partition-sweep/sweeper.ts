import { createRingCosts, type RingCosts } from '../../engine/cost/ring-costs.ts';
import { type Cluster, createCluster } from '../../engine/hardware/cluster.ts';
import type { ProcessorKind } from '../../engine/hardware/device.ts';
import type { Model } from '../../engine/model/model.ts';
import type { Workload } from '../../engine/model/workload.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import type { Reclaim } from '../rounds/rounds.ts';
import type { GpuLevels } from './gpu-choices.ts';
import { createJudge, type Judged } from './judge.ts';
import { pointPlan } from './point-plan.ts';
import type { PolicyName } from './policies.ts';
import { createSpace, type Space } from './space.ts';

/** All that decides what a plan's number means and what it takes: plain data, which travels to the workers. */
export interface SweepSetting {
  readonly cluster: Omit<Cluster, 'link'>;
  readonly model: Model;
  readonly workload: Workload;
  readonly reclaim: Reclaim;
  readonly rounds: readonly number[];
  readonly step: number;
  readonly gpuLevels: GpuLevels;
  readonly outputs: readonly ProcessorKind[];
  readonly policies: readonly PolicyName[];
}

export interface Sweeper {
  readonly space: Space;
  readonly costs: RingCosts;
  plan(number: number): Plan;
  judge(plan: Plan): Judged;
}

/** The space of a setting, and the judge of its plans. @throws InputError if the space is too large to number */
export function createSweeper(setting: SweepSetting): Sweeper {
  const { model, workload } = setting;
  const cluster = createCluster(setting.cluster);
  const costs = createRingCosts(cluster, model, workload);
  const space = createSpace({ ...setting, costs });
  return {
    space,
    costs,
    plan: (number) => pointPlan(costs, space.at(number)),
    judge: createJudge({ ...setting, cluster }),
  };
}
