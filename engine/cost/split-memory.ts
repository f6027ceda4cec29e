import { type Device, hasUnifiedGpu, isDiscrete } from '../hardware/device.ts';
import { appendedBytes } from '../model/kept-bytes.ts';
import type { Model } from '../model/model.ts';
import type { Workload } from '../model/workload.ts';
import type { Plan } from '../plan/plan.ts';
import type { DeviceBreakdown } from './breakdown.ts';
import { type KvPaging, kvPages } from './kv-pages.ts';
import { reservedKvBytes } from './layer-seconds.ts';
import { ROOFLINE_RUNTIME } from './roofline.ts';
import type { Runtime } from './runtime.ts';

/** The parts of a model that a device holds on its CPU and GPU. */
export interface SplitLoad {
  readonly cpuLayers: number;
  readonly gpuLayers: number;
  /** The processor that embeds, and the one that runs the output layer; `undefined` on devices other than the head. */
  readonly embedding: 'cpu' | 'gpu' | undefined;
  readonly output: 'cpu' | 'gpu' | undefined;
  readonly kvCache: Plan['kvCache'];
  /** Bytes of experts of GPU layers that the CPU has; none unless given. */
  readonly crossedBytes?: number;
}

export interface SplitMemoryCase {
  readonly device: Device;
  readonly model: Model;
  readonly workload: Workload;
  readonly runtime?: Runtime | undefined;
  readonly paging?: KvPaging | undefined;
}

export type SplitMemory = Pick<
  DeviceBreakdown,
  'ramBytes' | 'ramAvailable' | 'vramBytes' | 'vramAvailable' | 'nonReclaimableBytes'
>;

/**
 * Bytes needed and available in VRAM, both sides of HELM's Eq. 4.16, and the same for RAM. 1_kv-GPU is 1 if the KV
 * cache lies with its layers; W_kv^total then covers the GPU's blocks only, since the CPU's blocks have theirs in RAM.
 * A tied matrix counts once on a processor that both embeds and runs the output layer.
 */
export function splitMemory(
  load: SplitLoad,
  { device, model, workload, runtime = ROOFLINE_RUNTIME, paging }: SplitMemoryCase,
): SplitMemory {
  const layersOn = (side: 'cpu' | 'gpu'): number => (side === 'cpu' ? load.cpuLayers : load.gpuLayers);
  const weights = (side: 'cpu' | 'gpu'): number => {
    const output = load.output === side ? model.output.bytes : 0;
    const shared = model.tiedEmbeddings && output > 0;
    const embedding = load.embedding === side && !shared ? model.embedding.bytes : 0;
    const { crossedBytes = 0 } = load;
    const crossed = side === 'cpu' ? crossedBytes : -crossedBytes;
    return layersOn(side) * model.layer.bytes + crossed + embedding + output;
  };
  const gpuKv = load.gpuLayers * reservedKvBytes(model, workload);
  const cpuKv = load.cpuLayers * reservedKvBytes(model, workload);
  const gpuBuffers = device.gpu === undefined ? 0 : runtime.gpuBufferBytes;
  const vramAvailable = Math.max(0, (device.gpu?.memory.available ?? 0) - gpuBuffers);
  const pages =
    paging && load.kvCache === 'host' && isDiscrete(device.gpu) && gpuKv > 0
      ? kvPages({
          paging,
          layers: load.gpuLayers,
          tokens: Math.max(workload.context, workload.reservedContext ?? 0),
          tokenBytes: appendedBytes(model, workload.kvFormat) * workload.batch,
          poolBytes: vramAvailable - weights('gpu'),
        })
      : undefined;
  const offloaded = pages?.ramBytes ?? (load.kvCache === 'host' ? gpuKv : 0);
  const kvInVram = pages?.gpuBytes ?? gpuKv - offloaded;
  const vram = weights('gpu') + kvInVram;
  const fixed = runtime.cpuBufferBytes + cpuKv + offloaded;
  const unified = hasUnifiedGpu(device);
  return {
    ramBytes: weights('cpu') + fixed + (unified ? vram + gpuBuffers : 0),
    ramAvailable: device.memory.available,
    vramBytes: vram,
    vramAvailable,
    nonReclaimableBytes: fixed + (unified ? kvInVram + gpuBuffers : 0),
  };
}
