import type { Runtime } from '../../engine/cost/runtime.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import { parseCluster } from '../../engine/hardware/parse-cluster.ts';
import { uniformShape } from '../../engine/model/architecture.ts';
import { createModel } from '../../engine/model/model.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import { ringPlan } from '../../engine/plan/ring-plan.ts';
import {
  type FittedPolicy,
  largestPinnedBytes,
  type Prefetch,
  type Release,
} from '../../engine/plan/weights-policy.ts';

/** 32 layers of 128 MiB: four devices hold 1 GiB each. */
export const LAB_MODEL = createModel(
  uniformShape({
    name: 'lab',
    architecture: 'llama',
    layers: 32,
    hiddenSize: 2048,
    ffnSize: 8192,
    heads: 16,
    kvHeads: 16,
    headSize: 128,
    vocabularySize: 256,
    tiedEmbeddings: false,
    qkvBias: false,
  }),
  'F16',
);

/** Bytes of weights on each of the four devices. */
export const LAB_SHARE = 8 * LAB_MODEL.layer.bytes;

export const NO_BUFFERS: Runtime = { cpuBufferBytes: 0, gpuBufferBytes: 0, activationBytes: 4 };

/** Four Linux devices that read weights at 25 GB/s: the ring of the measurements on Linux. */
export function labCluster({ limit, disk }: { readonly limit: string; readonly disk: string }): Cluster {
  const devices = ['d0', 'd1', 'd2', 'd3'].map((name) => ({
    name,
    os: 'linux',
    memory: { total: '4 GiB', available: limit },
    cpu: { cores: 1, compute: '1000 TFLOPS', bandwidth: '25 GB/s' },
    disk: { sequential: disk },
  }));
  const links = { default: { latency: '100 us', bandwidth: '10 Gbps' } };
  return parseCluster(JSON.stringify({ name: 'lab', devices, links }), 'lab.json');
}

export interface LabPlanOptions {
  readonly rounds: number;
  readonly prefetch: Prefetch;
  readonly release?: Release;
  /** Bytes that are pinned. */
  readonly pinned?: number;
}

/** Equal windows on all four devices. */
export function labPlan({ rounds, prefetch, release = 'none', pinned = 0 }: LabPlanOptions): Plan {
  const windows = ['d0', 'd1', 'd2', 'd3'].map((device) => ({ device, layers: 8 / rounds, gpuLayers: 0 }));
  const plan = ringPlan({ scheduler: 'hand', head: 'd0', rounds, windows });
  const policy: FittedPolicy = release === 'pinned' ? { prefetch, release, pinned } : { prefetch, release };
  return { ...plan, weights: Object.fromEntries(windows.map(({ device }) => [device, policy])) };
}

const MIB = 2 ** 20;
/** Linux's page tables, 6 MiB per GiB, which count against the limit, and a prefetcher's read in flight. */
const PAGE_TABLES = 6 * MIB;
const IN_FLIGHT = 16 * MIB;

/** The most bytes of a device's share that can be pinned besides page tables and reads in flight. */
export function labPinnedBytes(rounds: number, limit: number): number {
  return largestPinnedBytes({ rounds, mapped: LAB_SHARE, room: limit - PAGE_TABLES - IN_FLIGHT });
}
