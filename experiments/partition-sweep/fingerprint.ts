import { createHash } from 'node:crypto';
import type { SweepSetting } from './sweeper.ts';

/** Everything that decides the results of a sweep, by its option's name. */
export type Fingerprint = Readonly<Record<string, string | number>>;

/** What decides a sweep's results beside its setting. */
export interface Drawn {
  readonly mostPlans: number;
  readonly seed: number;
}

/** Cluster and model are told by name and content, so that a file changed in between is noticed. */
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
