import { type Cluster, createCluster } from '../../engine/hardware/cluster.ts';
import type { Device } from '../../engine/hardware/device.ts';
import type { Model } from '../../engine/model/model.ts';
import { createPlan } from '../../engine/plan/create-plan.ts';
import type { ExpertParallelPlan } from '../../engine/plan/plan.ts';
import { expertLayersOf } from '../../engine/plan/validate-experts.ts';
import { oneMachine } from './one-machine.ts';

const [PC] = oneMachine({ gpu: 'none', ram: 64e9 }).devices as [Device];

/** Machines without GPUs, by their bytes per second of memory; messages take 0.2 ms and 1 s for 125 MB. */
export function holderCluster(bandwidths: readonly number[], ram: readonly number[] = []): Cluster {
  const devices = bandwidths.map((bandwidth, index): Device => {
    const bytes = ram[index] ?? 64e9;
    const memory = { total: bytes, available: bytes, swappable: 0, swapFree: 0 };
    return { ...PC, name: 'abcdefgh'[index] ?? '', cpu: { ...PC.cpu, bandwidth }, memory };
  });
  return createCluster({
    name: 'holders',
    devices,
    links: { default: { latency: 0.2e-3, bandwidth: 125e6 }, pairs: new Map() },
  });
}

/** A plan in which expert e of layer l is held by the device that `holderOf` names; devices without experts are left out. */
export function holderPlan(model: Model, holderOf: (expert: number, layer: number) => string): ExpertParallelPlan {
  const { layers, experts } = expertLayersOf(model, 0, model.layers);
  const lists = new Map<string, number[][]>();
  for (let layer = 0; layer < layers; layer++)
    for (let expert = 0; expert < experts; expert++) {
      const device = holderOf(expert, layer);
      const own = lists.get(device) ?? Array.from({ length: layers }, (): number[] => []);
      own[layer]?.push(expert);
      lists.set(device, own);
    }
  const head = { device: 'a', processor: 'cpu' } as const;
  return createPlan({
    ...{ scheduler: 'hand', rounds: 1, embedding: head, output: head, weights: {}, kvCache: 'with-layers' },
    stages: [{ ...head, from: 0, to: model.layers }],
    holders: [...lists].sort(([a], [b]) => (a < b ? -1 : 1)).map(([device, own]) => ({ device, experts: own })),
  }) as ExpertParallelPlan;
}
