import { MEMORY_REGIMES, type MemoryRegime, randomCluster } from '../../datasets/random-cluster.ts';
import { createRingPredictor } from '../../engine/cost/ring.ts';
import { type Cluster, createCluster } from '../../engine/hardware/cluster.ts';
import type { UpgradablePart } from '../../engine/hardware/device.ts';
import type { CataloguePart } from '../../engine/hardware/parse-devices.ts';
import { partsOf } from '../../engine/hardware/preset-cluster.ts';
import { randomStream } from '../../engine/input/random-stream.ts';
import type { Model } from '../../engine/model/model.ts';
import type { Workload } from '../../engine/model/workload.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import { optimal } from '../../engine/schedule/exact/optimal.ts';
import { believed } from '../../planner/belief.ts';
import { type UpgradeParts, upgradedDevice } from '../../planner/changes.ts';
import { wholeSeconds } from '../partition-sweep/judge.ts';

/** Purchase: nothing, or one part for one device, or faster links for all. */
export const UPGRADES = ['none', 'disk', 'memory', 'GPU', 'links'] as const;
export type Upgrade = (typeof UPGRADES)[number];
export const REGIMES = Object.keys(MEMORY_REGIMES) as MemoryRegime[];

export interface UpgradesSetting {
  /** Seed of the first home; the others count on from it. */
  readonly seed: number;
  readonly models: readonly Model[];
  readonly workload: Workload;
  readonly parts: UpgradeParts;
  /** Parts that can be exchanged in the PCs that are sold, one entry for each: a PC of a home has one of these. */
  readonly upgradable: readonly (readonly UpgradablePart[])[];
  /** How long a token of a plan takes: by the closed forms, or simulated. The plan is the optimum of the closed forms. */
  readonly answer: Answer;
}

export const ANSWERS = ['predicted', 'simulated'] as const;
export type Answer = (typeof ANSWERS)[number];

/** A point of the sweep: one home, one model, one upgrade. */
export interface UpgradePoint {
  readonly home: number;
  readonly model: Model;
  readonly upgrade: Upgrade;
}

export function upgradePoint(point: number, { models }: UpgradesSetting): UpgradePoint {
  const pair = Math.floor(point / UPGRADES.length);
  return {
    home: Math.floor(pair / models.length),
    model: models[pair % models.length] as Model,
    upgrade: UPGRADES[point % UPGRADES.length] as Upgrade,
  };
}

/** Devices of a home, and its memory in addition to the model: determined by seed and number. */
export function homeShape(home: number, { seed }: UpgradesSetting): { devices: number; regime: MemoryRegime } {
  const stream = randomStream(seed + home, 'upgrades');
  return { devices: stream.integer(2, 4), regime: stream.pick(REGIMES) };
}

/** The home of a point before anything is bought. */
export function homeCluster({ home, model }: Omit<UpgradePoint, 'upgrade'>, setting: UpgradesSetting): Cluster {
  const seed = setting.seed + home;
  const cluster = randomCluster({ seed, ...homeShape(home, setting), modelBytes: model.bytes });
  const stream = randomStream(seed, 'upgradable');
  const devices = cluster.devices.map((device) =>
    device.os === 'linux' ? { ...device, upgradable: stream.pick(setting.upgradable) } : device,
  );
  return createCluster({ ...cluster, devices });
}

/** Parts that can be exchanged in each PC of the catalogue. */
export function upgradableMachines(catalogue: readonly CataloguePart[]): UpgradesSetting['upgradable'] {
  return partsOf(catalogue, 'laptop', 'desktop')
    .filter(({ os }) => os === 'linux')
    .map(({ upgradable }) => upgradable);
}

/**
 * The least TPOT of a point, seconds, predicted or simulated, over the devices that the part can be bought for; `null` if
 * nothing runs, or nothing can be bought. Plans are the exact optimum of the closed forms under `lru`, what Linux and
 * macOS do, for the cluster as it is believed to be. They run without prefetching, of which closed forms know nothing:
 * where weights exceed memory, what is read ahead evicts what is needed sooner, and much is read twice (prima.cpp A.1).
 * @param own the home of the point, from homeCluster
 */
export function leastSeconds(
  { model, upgrade }: UpgradePoint,
  own: Cluster,
  { workload, parts, answer }: UpgradesSetting,
): number | null {
  let least = Number.POSITIVE_INFINITY;
  for (const cluster of upgradedClusters(own, upgrade, parts)) {
    const belief = believed(cluster);
    const { plan } = optimal({ belief, model, workload, reclaim: 'lru' });
    if (plan === undefined) continue;
    const seconds =
      answer === 'predicted'
        ? predictedSeconds({ belief, model, workload, plan })
        : wholeSeconds({ cluster, model, workload, reclaim: 'os' }, { ...plan, weights: {} });
    if (typeof seconds === 'number') least = Math.min(least, seconds);
  }
  return Number.isFinite(least) ? least : null;
}

interface Predicted {
  readonly belief: Cluster;
  readonly model: Model;
  readonly workload: Workload;
  readonly plan: Plan;
}

function predictedSeconds({ belief, model, workload, plan }: Predicted): number | undefined {
  const { tokenSeconds, infeasible } = createRingPredictor(belief, model, workload, { reclaim: 'lru' })(plan);
  return infeasible.length > 0 ? undefined : tokenSeconds;
}

/** The cluster after each way to make an upgrade. */
function upgradedClusters(cluster: Cluster, upgrade: Upgrade, parts: UpgradeParts): Cluster[] {
  if (upgrade === 'none') return [cluster];
  if (upgrade === 'links') {
    if (cluster.links.default.bandwidth >= parts.link.link.bandwidth) return [];
    return [createCluster({ ...cluster, links: { default: parts.link.link, pairs: new Map() } })];
  }
  const part = upgrade === 'GPU' ? 'gpu' : upgrade;
  return cluster.devices.flatMap((device) => {
    const better = upgradedDevice(device, part, parts)?.device;
    if (better === undefined) return [];
    return [createCluster({ ...cluster, devices: cluster.devices.map((one) => (one === device ? better : one)) })];
  });
}
