import { type Cluster, createCluster } from '../../engine/hardware/cluster.ts';
import type { Device, DiscreteGpu } from '../../engine/hardware/device.ts';
import type { Model } from '../../engine/model/model.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import { cpuGpuSplit, type SplitSearch } from '../../engine/schedule/helm/cpu-gpu-split.ts';

/** The reader's settings. */
export interface SplitSetting {
  /** GiB that the GPU has for weights and KV cache. */
  readonly vram: number;
  /** Tokens in the KV cache. */
  readonly context: number;
  /** Place of GPU layers' keys and values: with their layers, or all in RAM (HELM's KV offload). */
  readonly kvCache: Plan['kvCache'];
}

/** A machine with another amount of VRAM. */
export function withVram(cluster: Cluster, vram: number): Cluster {
  const [device] = cluster.devices as readonly [Device & { gpu: DiscreteGpu }];
  const memory = { total: vram * 2 ** 30, available: vram * 2 ** 30 };
  return createCluster({ ...cluster, devices: [{ ...device, gpu: { ...device.gpu, memory } }] });
}

/** HELM's search over every split (Algorithm 1), with its curve. */
export function search(cluster: Cluster, model: Model, { vram, context, kvCache }: SplitSetting): SplitSearch {
  const workload = createWorkload({ context, promptTokens: Math.max(1, Math.min(context, 128)) });
  return cpuGpuSplit({ belief: withVram(cluster, vram), model, workload }, { kvCache });
}
