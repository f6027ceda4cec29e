import { createHash } from 'node:crypto';
import { createRingCosts, type RingCosts } from '../../engine/cost/ring-costs.ts';
import { type Cluster, createCluster } from '../../engine/hardware/cluster.ts';
import type { ProcessorKind } from '../../engine/hardware/device.ts';
import type { Model } from '../../engine/model/model.ts';
import type { Workload } from '../../engine/model/workload.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import type { Reclaim } from '../rounds/rounds.ts';
import { createJudge, type Judged, wholeSeconds } from './judge.ts';
import type { PolicyName } from './policies.ts';
import { createSpace, pointPlan, type Space } from './space.ts';
import type { GpuLevels } from './splits.ts';

/** Everything that determines which plan a number stands for and its result: plain data, sent to the workers. */
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
  /** TPOT of a plan that is simulated as a whole, seconds, or why it can't be run. */
  simulate(plan: Plan): number | string;
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
    simulate: (plan) => wholeSeconds({ ...setting, cluster }, plan),
  };
}

/** Everything that determines the results of a sweep, by the option's name. */
export type Fingerprint = Readonly<Record<string, string | number>>;

/** Inputs other than its setting that determine a sweep's results. */
export interface Drawn {
  readonly mostPlans: number;
  readonly seed: number;
}

/** Cluster and model are identified by name and content, so that a changed file is noticed. */
export function fingerprintOf(setting: SweepSetting, { mostPlans, seed }: Drawn): Fingerprint {
  const { cluster, model, workload } = setting;
  return {
    cluster: `${cluster.name} (${digest([cluster.devices, cluster.links])})`,
    model: `${model.name}:${model.mix} (${digest(model)})`,
    context: workload.context,
    reclaim: setting.reclaim,
    rounds: setting.rounds.join(','),
    step: setting.step,
    'gpu-levels': setting.gpuLevels,
    outputs: setting.outputs.join(','),
    policies: setting.policies.join(','),
    'most-plans': mostPlans,
    seed,
  };
}

/** `step was 4, is 2`: every setting in which two sweeps differ. */
export function differences(was: Fingerprint, is: Fingerprint): string[] {
  const keys = [...new Set([...Object.keys(was), ...Object.keys(is)])];
  return keys
    .filter((key) => was[key] !== is[key])
    .map((key) => `${key} was ${was[key] ?? 'not there'}, is ${is[key] ?? 'not there'}`);
}

/** The first digits of a SHA-256 of plain data, with maps as lists. */
function digest(value: unknown): string {
  const text = JSON.stringify(value, (_, part) => (part instanceof Map ? [...part] : part));
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}
