import { activationPeakBytes, cacheTensorBytes } from '../../engine/cost/pytorch-memory.ts';
import type { Model } from '../../engine/model/model.ts';
import { type Allocation, CachingAllocator } from '../hardware/caching-allocator.ts';

export interface DynamicCacheRun {
  readonly model: Model;
  /** Layers whose keys and values are on the GPU. */
  readonly layers: number;
  readonly promptTokens: number;
  readonly batch: number;
  /** Bytes of VRAM in addition to context and weights. */
  readonly room: number;
  /** Tokens after which decoding ends by itself. */
  readonly most: number;
}

/** Tokens by which the cache grows at once, so that long runs take less than a second; the holes hardly differ. */
const STRIDE = 8;

/**
 * Decodes with a Hugging Face DynamicCache until the allocator has no memory for the next tensor, layer by layer: new
 * keys are written to a longer tensor, then the old tensor is freed, then values likewise. Each pass takes and frees its
 * activations as one block.
 * @returns tokens in the cache after the last pass that succeeded, at most `most`; 0 where the prompt doesn't fit
 */
export function longestDynamicCache({ model, layers, promptTokens, batch, room, most }: DynamicCacheRun): number {
  const allocator = new CachingAllocator(room);
  const tensors: (Allocation | undefined)[] = Array.from({ length: 2 * layers });
  const pass = (cached: number, tokens: number): boolean => {
    const activations = allocator.allocate(activationPeakBytes({ model, tokens: tokens * batch, batch }));
    if (activations === undefined) return false;
    for (const [index, old] of tensors.entries()) {
      const longer = allocator.allocate(cacheTensorBytes({ model, tokens: cached + tokens, batch }));
      if (longer === undefined) return false;
      if (old !== undefined) allocator.release(old);
      tensors[index] = longer;
    }
    allocator.release(activations);
    return true;
  };
  if (!pass(0, promptTokens)) return 0;
  let cached = promptTokens;
  while (cached < most && pass(cached, STRIDE)) cached += STRIDE;
  return Math.min(cached, most);
}
