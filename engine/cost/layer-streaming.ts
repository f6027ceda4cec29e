import type { Stage } from '../plan/plan.ts';
import { noSeconds, type Seconds } from './breakdown.ts';
import { type LayerSeconds, totalLayerSeconds } from './layer-seconds.ts';
import { HOOK_SECONDS } from './runtime.ts';

/** How a stage is streamed, and the number of its layers that the GPU buffers at once. */
export type Streaming = NonNullable<Stage['streamed']>;
export const STREAMING_BUFFERS: Readonly<Record<Streaming, number>> = { ahead: 2, 'in-turn': 1 };

/**
 * Bytes per second of copies from pageable memory: 1 / (1 / B_link + 1 / B_stage). The driver first copies each piece
 * to a pinned buffer, at B_stage, and the GPU takes it from there (NVIDIA, "How to Optimize Data Transfers in CUDA
 * C/C++"); the two are taken to follow each other.
 */
export function pageableBandwidth(link: number, staging: number): number {
  return 1 / (1 / link + 1 / staging);
}

/** A layer's copy to a GPU. */
export interface LayerCopy {
  readonly seconds: number;
  /** Whether copies and computing follow each other in one queue (DeviceCosts). */
  readonly oneQueue: boolean;
}

/**
 * Seconds of a stage of n layers whose weights are copied over the host link for every token, `copy` seconds per layer:
 * - `ahead`: the first copy, then each copy alongside the computing c of the layer before: copy + (n − 1) max(copy, c) + c
 *   (ZeRO-Inference's prefetching, which hides what takes less than computing);
 * - `in-turn`: n (copy + hook + c), the hook being what a framework adds to move a layer;
 * - both in one queue: n (copy + c), by Hearth, which has no hooks. What overlaps then, bringing bytes to the queue, isn't known
 *   apart from the link.
 *
 * Only copying that computing waits for counts, as `deviceCopy`.
 */
export function streamedSeconds(
  streamed: Streaming,
  layers: number,
  layer: LayerSeconds,
  { seconds: copy, oneQueue }: LayerCopy,
): Seconds {
  const { compute, kvCopy, memory, overhead } = layer;
  const computing = totalLayerSeconds(layer);
  const hasHooks = streamed === 'in-turn' && !oneQueue;
  const waits =
    streamed === 'in-turn' || oneQueue ? layers * copy : copy + (layers - 1) * Math.max(0, copy - computing);
  return {
    ...noSeconds(),
    compute: layers * compute,
    kvCopy: layers * kvCopy,
    memory: layers * memory,
    deviceCopy: waits,
    overhead: layers * (overhead + (hasHooks ? HOOK_SECONDS : 0)),
  };
}
