import type { Breakdown } from '../cost/breakdown.ts';
import { createExpertParallelPredictor, type ExpertParallelOptions, sharesOfRouting } from '../cost/expert-parallel.ts';
import { expertBytesByLayer, expertLinkSeconds, heldExpertSeconds, heldMemory } from '../cost/held-experts.ts';
import { totalLayerSeconds } from '../cost/layer-seconds.ts';
import { DEFAULT_RUNTIME } from '../cost/runtime.ts';
import { type Cluster, reaches } from '../hardware/cluster.ts';
import type { Device } from '../hardware/device.ts';
import type { Model } from '../model/model.ts';
import type { Workload } from '../model/workload.ts';
import { createPlan } from '../plan/create-plan.ts';
import type { ExpertParallelPlan } from '../plan/plan.ts';
import { expertLayersOf } from '../plan/validate-experts.ts';
import { placeExperts } from './place-experts.ts';
import { noPlan, type Scheduled, type SchedulingProblem } from './scheduler.ts';

export interface ExpertParallelCase extends ExpertParallelOptions {
  readonly cluster: Cluster;
  readonly model: Model;
  readonly workload: Workload;
}

export interface PredictedExpertParallel {
  readonly plan: ExpertParallelPlan;
  readonly breakdown: Breakdown;
}

/** Other devices of which all sets are tried; of more, the sets of the first 1, 2, … in the order of their seconds. */
const MOST_SETS_OF = 6;

/**
 * The plan of the least predicted TPOT that divides a mixture's experts among the head and some other devices, on their CPUs,
 * balanced by popularity, seconds and memory (placeExperts).
 * @returns `undefined` for a model without experts, a head without room for what every token uses, and devices that have too
 * little memory together
 */
export function bestExpertParallel(given: ExpertParallelCase): PredictedExpertParallel | undefined {
  const { cluster, model, workload, ...options } = given;
  const head = cluster.devices[0];
  const { layers, experts, used } = expertLayersOf(model, 0, model.layers);
  if (head === undefined || layers === 0) return undefined;
  const { runtime = DEFAULT_RUNTIME, routing } = options;
  const known = routing && sharesOfRouting(routing, { layers, experts, used });
  const uniform = new Float64Array(experts).fill(used / experts);
  const shares = Array.from({ length: layers }, (_, layer) => known?.[layer] ?? uniform);
  const expertBytes = expertBytesByLayer(model);
  const rowBytes = runtime.activationBytes * model.hiddenSize;
  const one = { experts: 1, rows: 1, choices: 1, phase: 'decode' } as const;
  const places = cluster.devices.map((device, index) => {
    const isHead = index === 0;
    const { weights, fixed } = heldMemory({ experts: [], isHead }, { model, workload, runtime });
    const links = { cluster, head: 0, device: index, rowBytes };
    return {
      index,
      seconds: totalLayerSeconds(heldExpertSeconds(model, one, { cpu: device.cpu, isHead: true })),
      messageSeconds: expertLinkSeconds(one, links) + (isHead ? 0 : (device.cpu.dispatch ?? 0)),
      room: device.memory.available - weights - fixed,
    };
  });
  type Place = (typeof places)[number];
  const [own, ...all] = places as [Place, ...Place[]];
  if (own.room < 0) return undefined;
  const others = all
    .filter(({ index, room }) => room > 0 && reaches(cluster, head.name, (cluster.devices[index] as Device).name))
    .sort((a, b) => a.seconds + a.messageSeconds - (b.seconds + b.messageSeconds));
  const predict = createExpertParallelPredictor(cluster, model, workload, options);

  const planFor = (set: readonly Place[]): ExpertParallelPlan | undefined => {
    const holders = set.map(({ index }) => ({
      device: (cluster.devices[index] as Device).name,
      experts: [] as number[][],
    }));
    const caps = roomsByLayer(set, expertBytes);
    const same = new Map<string, number[] | undefined>();
    for (const [layer, share] of shares.entries()) {
      const most = caps.map((own) => own[layer] as number);
      const key = share === uniform ? most.join() : undefined;
      const placed =
        key !== undefined && same.has(key) ? same.get(key) : placeExperts({ shares: share, places: set, most });
      if (key !== undefined) same.set(key, placed);
      if (placed === undefined) return undefined;
      for (const [at, { experts: lists }] of holders.entries())
        lists.push([...placed.keys()].filter((expert) => placed[expert] === at));
    }
    const place = { device: head.name, processor: 'cpu' } as const;
    return createPlan({
      ...{
        scheduler: 'expert-parallel',
        rounds: 1,
        embedding: place,
        output: place,
        weights: {},
        kvCache: 'with-layers',
      },
      stages: [{ ...place, from: 0, to: model.layers }],
      holders: holders.filter(({ experts: lists }) => lists.some((list) => list.length > 0)),
    }) as ExpertParallelPlan;
  };

  let best: PredictedExpertParallel | undefined;
  for (const set of setsOf(others)) {
    const plan = planFor([own, ...set]);
    if (plan === undefined || plan.holders.every(({ device }) => device === head.name)) continue;
    const breakdown = predict(plan);
    if (breakdown.infeasible.length > 0) continue;
    if (best === undefined || breakdown.tokenSeconds < best.breakdown.tokenSeconds) best = { plan, breakdown };
  }
  return best;
}

/** Expert parallelism as a scheduler: the best plan for the cluster's first device as the head, popularity being equal. */
export function expertParallel({ belief, model, workload, runtime }: SchedulingProblem): Scheduled {
  if (expertLayersOf(model, 0, model.layers).layers === 0)
    return noPlan('no-experts', `${model.name} has no experts to divide; use another scheduler`);
  const best = bestExpertParallel({ cluster: belief, model, workload, ...(runtime && { runtime }) });
  if (best !== undefined) return { plan: best.plan };
  return noPlan(
    'fits-nowhere',
    `no division of the experts of ${model.name} suits ${belief.name}: its head has all results sooner by itself, or no room for what every token uses, or the devices that it reaches have too little for the experts; use another scheduler`,
  );
}

/** Sets of at least one of some devices. */
function setsOf<Item>(items: readonly Item[]): Item[][] {
  if (items.length > MOST_SETS_OF) return items.map((_, index) => items.slice(0, index + 1));
  return Array.from({ length: 2 ** items.length - 1 }, (_, set) =>
    items.filter((_, index) => (((set + 1) >> index) & 1) === 1),
  );
}

/** Experts of each layer that devices have room for: their room divided by the layers' bytes, and what is over passed on. */
function roomsByLayer(places: readonly { readonly room: number }[], expertBytes: readonly number[]): number[][] {
  const total = expertBytes.reduce((sum, bytes) => sum + bytes, 0);
  return places.map(({ room }) => {
    let [allowed, taken] = [0, 0];
    return expertBytes.map((bytes) => {
      allowed += (room * bytes) / total;
      const most = Math.floor((allowed - taken) / bytes);
      taken += most * bytes;
      return most;
    });
  });
}
