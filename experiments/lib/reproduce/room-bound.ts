import type { Cluster } from '../../../engine/hardware/cluster.ts';
import type { Model } from '../../../engine/model/model.ts';

/** Shares of D3's RAM in Table 5, and llama.cpp's part of the model on its CPU. */
export interface Pressures {
  /** llama.cpp where all layers are on the GPU, and with this model. */
  readonly llamaWithoutCache: number;
  readonly llama: number;
  /** prima.cpp with this model: an upper bound. */
  readonly prima: number;
  readonly llamaCpuLayers: number;
  /** Tokens that llama.cpp's KV cache has room for. */
  readonly llamaRoom: number;
}

/**
 * The most tokens that prima.cpp's KV cache can have had room for, by what Table 5 says of both systems on one device:
 * pressure above that without a cache is as layers times tokens. Installed RAM and the bytes of a token cancel.
 */
export function roomBound(leastCpuLayers: number, pressures: Pressures): number {
  const { llamaWithoutCache, llama, prima, llamaCpuLayers, llamaRoom } = pressures;
  return (llamaRoom * (prima / (llama - llamaWithoutCache)) * llamaCpuLayers) / leastCpuLayers;
}

/**
 * The fewest layers that D3's CPU can have had: what fits neither into VRAM nor into the RAM of devices without it, none
 * of which is overloaded (App. A.8), is on the CPUs that have a GPU beside them, and D3's has the largest RAM of these.
 */
export function leastCpuLayers({ devices }: Cluster, { layers, layer }: Model): number {
  const withGpu = devices.filter(({ gpu }) => gpu !== undefined);
  const vram = withGpu.reduce((sum, { gpu }) => sum + (gpu?.memory.available ?? 0), 0);
  const elsewhere = devices
    .filter(({ gpu }) => gpu === undefined)
    .reduce((sum, { memory }) => sum + Math.floor(memory.available / layer.bytes), 0);
  return Math.floor((layers - Math.floor(vram / layer.bytes) - elsewhere) / withGpu.length);
}
