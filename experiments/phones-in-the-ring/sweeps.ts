import { type Cluster, createCluster } from '../../engine/hardware/cluster.ts';
import { type Device, isDiscrete, type NetworkLink } from '../../engine/hardware/device.ts';
import type { Model } from '../../engine/model/model.ts';
import type { Workload } from '../../engine/model/workload.ts';
import type { IntegerSolver } from '../../engine/schedule/integer-solver.ts';
import { type Judged, planAndJudge } from './plans.ts';
import { chipsOf, variantsOf } from './variants.ts';

export const SWEEPS = ['NPU speed', 'memory bandwidth', 'link speed', 'phone memory'] as const;
export type Sweep = (typeof SWEEPS)[number];

/** The quantity that is multiplied by the factor. */
export const SWEEP_TITLES: Readonly<Record<Sweep, string>> = {
  'NPU speed': 'FLOP/s of the phones’ NPUs, times what they are',
  'memory bandwidth': 'bytes/s that a phone’s GPU and NPU reach together, times what they are',
  'link speed': 'bytes/s of all links, and the inverse of their latency, times what they are',
  'phone memory': 'memory that a phone has available, times what it is',
};

const FACTORS: Readonly<Record<Sweep, readonly number[]>> = {
  'NPU speed': [0.125, 0.25, 0.5, 1, 2, 4, 8],
  'memory bandwidth': [0.75, 1, 1.25, 1.5, 2],
  'link speed': [1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8],
  'phone memory': [0.125, 0.25, 0.5, 0.75, 1, 1.25, 1.5],
};

export interface SweepPoint {
  readonly sweep: Sweep;
  readonly factor: number;
  readonly variant: string;
  /** Layers that the plan gives to phones. */
  readonly phoneLayers: number;
  readonly judged: Judged | undefined;
}

export interface SweepCase {
  readonly cluster: Cluster;
  readonly model: Model;
  readonly workload: Workload;
  readonly solver: IntegerSolver;
  /** Called after each point. */
  readonly step: (text: string) => void;
}

/** Number of points in a sweep of all quantities. */
export const SWEEP_POINTS = 3 * SWEEPS.reduce((sum, sweep) => sum + FACTORS[sweep].length, 0);

/** Plans with `optimal` at every point, and predicts and simulates each plan. */
export function sweepPhones({ cluster, model, workload, solver, step }: SweepCase): SweepPoint[] {
  const chips = chipsOf(cluster);
  return SWEEPS.flatMap((sweep) =>
    FACTORS[sweep].flatMap((factor) =>
      variantsOf(changed(cluster, sweep, factor)).map((variant): SweepPoint => {
        const { plan, judged } = planAndJudge({ variant, model, workload, planner: 'optimal', solver });
        step(`${sweep} × ${factor}, ${variant.name}`);
        const own = plan?.stages.filter(({ device }) => chips.includes(device)) ?? [];
        const phoneLayers = own.reduce((sum, { from, to }) => sum + to - from, 0);
        return { sweep, factor, variant: variant.name, phoneLayers, judged };
      }),
    ),
  );
}

/** The cluster with one of its quantities multiplied. */
export function changed(cluster: Cluster, sweep: Sweep, factor: number): Cluster {
  const { links } = cluster;
  if (sweep === 'link speed') {
    const faster = (link: NetworkLink): NetworkLink => ({
      ...link,
      latency: link.latency / factor,
      bandwidth: link.bandwidth * factor,
    });
    const pairs = new Map([...links.pairs].map(([key, link]) => [key, faster(link)]));
    return createCluster({ ...cluster, links: { ...links, default: faster(links.default), pairs } });
  }
  const chips = new Set(chipsOf(cluster));
  const devices = cluster.devices.map((device) =>
    chips.has(device.name) ? changedChip(device, sweep, factor) : device,
  );
  return createCluster({ ...cluster, devices });
}

function changedChip(device: Device, sweep: Exclude<Sweep, 'link speed'>, factor: number): Device {
  const { gpu, npu, soc, memory } = device;
  if (gpu === undefined || npu === undefined || soc === undefined || isDiscrete(gpu)) return device;
  switch (sweep) {
    case 'NPU speed': {
      const rates = Object.entries(npu.flops).map(([format, rate]) => [format, rate * factor]);
      return { ...device, npu: { ...npu, flops: Object.fromEntries(rates) } };
    }
    case 'memory bandwidth': {
      const least = Math.max(gpu.bandwidth, npu.bandwidth);
      return { ...device, soc: { ...soc, bandwidth: Math.max(least, soc.bandwidth * factor) } };
    }
    case 'phone memory':
      return {
        ...device,
        memory: { ...memory, available: Math.min(memory.total, memory.available * factor) },
        gpu: {
          ...gpu,
          memory: { ...gpu.memory, available: Math.min(gpu.memory.total, gpu.memory.available * factor) },
        },
      };
  }
}
