import type { Cluster } from '../hardware/cluster.ts';
import { deviceIndex } from '../hardware/cluster.ts';
import type { Model } from '../model/model.ts';
import type { TensorParallelPlan } from '../plan/plan.ts';
import type { LayerSeconds } from './layer-seconds.ts';

/** A layer's attention and its feed-forward part: each ends in an all-reduce (Megatron-LM 3; dllama). */
export const PARTS_PER_LAYER = 2;

/** A device that holds its share of every tensor. */
export interface CutDevice {
  readonly name: string;
  /** In the cluster. */
  readonly index: number;
  readonly share: number;
  readonly isRoot: boolean;
}

/** The devices of a plan that cuts tensors, in its order. */
export function cutDevices({ stages: [stage] }: TensorParallelPlan, cluster: Cluster): CutDevice[] {
  return stage.cut.map(({ device, share }) => ({
    name: device,
    index: deviceIndex(cluster, device),
    share,
    isRoot: device === stage.device,
  }));
}

/**
 * What a device works on between two all-reduces: half of its share of a layer. Which half doesn't matter: what is left
 * out is that another device may be the slowest in attention than in the feed-forward part. To append keys and values
 * takes the same latency however few they are, as does dispatch.
 */
export function partSeconds(layer: LayerSeconds, share: number, kvCopyLatency: number): LayerSeconds {
  const part = share / PARTS_PER_LAYER;
  return {
    compute: layer.compute * part,
    memory: layer.memory * part,
    overhead: layer.overhead / PARTS_PER_LAYER,
    kvCopy: kvCopyLatency / PARTS_PER_LAYER + (layer.kvCopy - kvCopyLatency) * part,
  };
}

/** Bytes in the memory of a device: its share of layers and KV cache, buffers, and at the root the outer layers whole. */
export function cutBytes(
  { share, isRoot }: CutDevice,
  model: Model,
  { kvBytes, cpuBufferBytes }: { readonly kvBytes: number; readonly cpuBufferBytes: number },
): number {
  const outer = model.output.bytes + (model.tiedEmbeddings ? 0 : model.embedding.bytes);
  return share * model.layers * (model.layer.bytes + kvBytes) + cpuBufferBytes + (isRoot ? outer : 0);
}
