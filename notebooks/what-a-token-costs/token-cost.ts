import type { Breakdown } from '../../engine/cost/breakdown.ts';
import { predict } from '../../engine/cost/predict.ts';
import { type Cluster, createCluster } from '../../engine/hardware/cluster.ts';
import type { Device, FlopRates } from '../../engine/hardware/device.ts';
import type { Model } from '../../engine/model/model.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import { createPlan } from '../../engine/plan/create-plan.ts';
import { machineOf } from '../lib/example.ts';

/** The reader's settings, in the units of the sliders. */
export interface Machine {
  readonly gib: number;
  /** GB/s. */
  readonly bandwidth: number;
  readonly gflops: number;
  /** GB/s. */
  readonly disk: number;
}

/** The PC of the example without its graphics card, with the reader's memory, rates and disk. @param home the cluster */
export function withMemory(home: Cluster, { gib, bandwidth, gflops, disk }: Machine): Cluster {
  const pc = machineOf(home, 'PC');
  const rates = Object.fromEntries(Object.keys(pc.cpu.flops).map((format) => [format, gflops * 1e9])) as FlopRates;
  const device: Device = {
    ...pc,
    gpu: undefined,
    memory: { ...pc.memory, total: gib * 2 ** 30, available: gib * 2 ** 30 },
    cpu: { ...pc.cpu, flops: rates, bandwidth: bandwidth * 1e9 },
    disk: { sequential: disk * 1e9, random: (disk * 1e9) / 4 },
  };
  return createCluster({ ...home, devices: [device] });
}

/** The predicted seconds of a token on one CPU, which holds all layers (prima.cpp Eqs. 11–19, reclaim `lru`). */
export function tokenCost(cluster: Cluster, model: Model): Breakdown {
  const place = { device: cluster.devices[0]?.name ?? '', processor: 'cpu' } as const;
  const plan = createPlan({
    scheduler: 'hand',
    rounds: 1,
    stages: [{ ...place, from: 0, to: model.layers }],
    embedding: place,
    output: place,
    weights: {},
    kvCache: 'with-layers',
  });
  return predict({ plan, truth: cluster, model, workload: createWorkload(), reclaim: 'lru' });
}
