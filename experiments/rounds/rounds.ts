import { createRingCosts, type DeviceCosts } from '../../engine/cost/ring-costs.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import type { Model } from '../../engine/model/model.ts';
import type { Workload } from '../../engine/model/workload.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import { ringPlan } from '../../engine/plan/ring-plan.ts';
import {
  NO_WEIGHTS_POLICY,
  type Prefetch,
  type Release,
  type WeightsPolicy,
} from '../../engine/plan/weights-policy.ts';
import { managedWindows } from '../../engine/schedule/ring-aware/windows.ts';
import { divisors } from '../../engine/schedule/scheduler.ts';
import { type SimulationOptions, simulatedReclaim } from '../../simulator/options.ts';
import { DEFAULT_EXTENT_BYTES } from '../../simulator/page-cache/page-cache.ts';
import { simulate } from '../../simulator/simulate.ts';

/** A weights policy: a line of the plot. */
export interface Policy {
  readonly name: string;
  readonly prefetch: Prefetch;
  readonly release: Release;
}

export const POLICIES: readonly Policy[] = [
  { name: 'no prefetch', prefetch: 'none', release: 'none' },
  { name: 'willneed', prefetch: 'willneed', release: 'none' },
  { name: 'populate', prefetch: 'populate', release: 'none' },
  { name: 'populate, used window dropped', prefetch: 'populate', release: 'drop' },
  { name: 'populate, as much pinned as fits', prefetch: 'populate', release: 'pinned' },
];

export const RECLAIMS = ['os', 'linux-two-list', 'overflow'] as const;
export type Reclaim = (typeof RECLAIMS)[number];

export interface RoundsRow {
  readonly model: string;
  readonly mix: string;
  /** Weights of the model, bytes. */
  readonly bytes: number;
  readonly policy: string;
  readonly reclaim: Reclaim;
  readonly rounds: number;
  /** Mean TPOT after the first token, seconds; `undefined` if it can't run. */
  readonly seconds: number | undefined;
  /** Bytes that all devices read again per token. */
  readonly readBytes: number;
  readonly reason: string;
}

export interface RoundsSettings {
  readonly cluster: Cluster;
  readonly workload: Workload;
  readonly reclaim: Reclaim;
}

/** Rounds that divide the layers evenly among the devices, up to `most`. */
export function evenRounds(model: Model, devices: number, most: number): number[] {
  return divisors(model.layers).filter((k) => k <= most && model.layers % (k * devices) === 0);
}

/** A ring with equal windows on all devices, for one model, policy and number of rounds (prima.cpp Fig. 2). */
export function simulateRounds(model: Model, policy: Policy, rounds: number, settings: RoundsSettings): RoundsRow {
  const { cluster, workload, reclaim } = settings;
  const layers = model.layers / (rounds * cluster.devices.length);
  const windows = cluster.devices.map(({ name }) => ({ device: name, layers, gpuLayers: 0 }));
  const plan = {
    ...ringPlan({ scheduler: 'hand', head: cluster.devices[0]?.name ?? '', rounds, windows }),
    weights: weightsPolicies(model, policy, rounds, layers, settings),
  };
  const options: SimulationOptions = {
    record: 'tokens',
    reclaim: simulatedReclaim(reclaim),
  };
  const result = simulate({ cluster, model, plan, workload, ...options });
  const common = { model: model.name, mix: model.mix, bytes: model.bytes, policy: policy.name, reclaim, rounds };
  const shortage = result.outOfMemory[0];
  if (shortage !== undefined) return { ...common, seconds: undefined, readBytes: 0, reason: shortage.reason };
  // The prompt and the first token still depend on the initial state of the cache.
  const tokens = result.trace.tokens.filter(({ phase }) => phase === 'decode').slice(1);
  const reloaded = result.devices.reduce((sum, { counters }) => sum + counters.reloaded, 0);
  return {
    ...common,
    seconds: tokens.reduce((sum, { start, end }) => sum + end - start, 0) / tokens.length,
    readBytes: reloaded / workload.outputTokens,
    reason: '',
  };
}

/** The same policy on every device; each pins as much as fits next to a window that is read and released. */
function weightsPolicies(
  model: Model,
  { prefetch, release }: Policy,
  rounds: number,
  layers: number,
  { cluster, workload }: RoundsSettings,
): Plan['weights'] {
  const costs = createRingCosts(cluster, model, {
    ...workload,
    context: workload.promptTokens + workload.outputTokens,
  });
  const policyOf = (device: DeviceCosts, index: number): WeightsPolicy => {
    if (release !== 'pinned') return { prefetch, release };
    const output = index === 0 ? 'cpu' : undefined;
    const load = { rounds, layers, gpuLayers: 0, output, extentBytes: DEFAULT_EXTENT_BYTES } as const;
    const choices = managedWindows(costs, device, load);
    const found = choices.find(({ residence }) => residence !== 'faulted') ?? choices[0];
    return found?.policy ?? NO_WEIGHTS_POLICY;
  };
  return Object.fromEntries(costs.devices.map((device, index) => [device.name, policyOf(device, index)]));
}

/** TPOT with several rounds over TPOT with one: the least over k > 1. */
export function bestGain(
  rows: readonly RoundsRow[],
  model: string,
  policy: string,
  reclaim: Reclaim,
): { rounds: number; ratio: number } | undefined {
  const own = rows.filter((row) => row.model === model && row.policy === policy && row.reclaim === reclaim);
  const single = own.find(({ rounds }) => rounds === 1)?.seconds;
  if (single === undefined) return undefined;
  const others = own.flatMap(({ rounds, seconds }) =>
    rounds > 1 && seconds !== undefined ? [{ rounds, ratio: seconds / single }] : [],
  );
  return others.sort((a, b) => a.ratio - b.ratio)[0];
}
