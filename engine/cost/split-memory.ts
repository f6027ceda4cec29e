import { type Device, hasUnifiedGpu } from '../hardware/device.ts';
import { kvBytesPerToken, type Model } from '../model/model.ts';
import type { Workload } from '../model/workload.ts';
import type { Plan } from '../plan/plan.ts';
import type { DeviceBreakdown } from './breakdown.ts';
import { type KvPaging, kvPages } from './kv-pages.ts';
import { reservedKvBytes } from './layer-seconds.ts';
import { ROOFLINE_RUNTIME } from './roofline.ts';
import type { Runtime } from './runtime.ts';

/** What a device holds of a model that is split between its CPU and GPU. */
export interface SplitLoad {
  readonly cpuLayers: number;
  readonly gpuLayers: number;
  /** Where the head embeds and outputs; undefined on other devices. */
  readonly embedding: 'cpu' | 'gpu' | undefined;
  readonly output: 'cpu' | 'gpu' | undefined;
  readonly kvCache: Plan['kvCache'];
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
 * Both sides of Eq. 4.16, and the same for the RAM. 1_kv-GPU is 1 where the KV cache lies with its layers; W_kv^total
 * is then that of the GPU's blocks, as the CPU's read their own. A tied matrix counts once on a side that has both ends.
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
    return layersOn(side) * model.layer.bytes + embedding + output;
  };
  const gpuKv = load.gpuLayers * reservedKvBytes(model, workload);
  const cpuKv = load.cpuLayers * reservedKvBytes(model, workload);
  const gpuBuffers = device.gpu === undefined ? 0 : runtime.gpuBufferBytes;
  const vramAvailable = Math.max(0, (device.gpu?.memory.available ?? 0) - gpuBuffers);
  const pages =
    paging && load.kvCache === 'host' && device.gpu?.api === 'cuda' && gpuKv > 0
      ? kvPages({
          paging,
          layers: load.gpuLayers,
          tokens: Math.max(workload.context, workload.reservedContext ?? 0),
          tokenBytes: kvBytesPerToken(model) * workload.batch,
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
