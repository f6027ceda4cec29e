import { appendedBytes } from '../model/kept-bytes.ts';
import type { Model } from '../model/model.ts';

const MIB = 2 ** 20;

/**
 * How PyTorch's caching allocator takes memory from CUDA. Specification: c10/cuda/CUDACachingAllocator.cpp (kMinBlockSize,
 * kSmallSize, kSmallBuffer, kLargeBuffer, kMinLargeAlloc, kRoundLarge).
 */
export const CACHING_ALLOCATOR = {
  /** Every request is rounded up to a multiple of this. */
  roundingBytes: 512,
  /** Requests up to this share segments of smallSegmentBytes. */
  smallBytes: MIB,
  smallSegmentBytes: 2 * MIB,
  /** Larger requests below largeBytes share segments of largeSegmentBytes. */
  largeBytes: 10 * MIB,
  largeSegmentBytes: 20 * MIB,
  /** Requests from largeBytes on have a segment of their own, rounded up to a multiple of this. */
  largeRoundingBytes: 2 * MIB,
} as const;

/**
 * Bytes of VRAM that a CUDA context takes before anything is allocated. Assumed: 0.3 to 0.6 GiB with PyTorch's kernels,
 * which are loaded as they are used; HELM 4.1.3 reserves about 1 GB for the context and its runtime together.
 */
export const CUDA_CONTEXT_BYTES = 512 * MIB;

/** Bytes of the segment that the allocator asks CUDA for when no cached block holds a request. */
export function segmentBytes(request: number): number {
  const { smallBytes, smallSegmentBytes, largeBytes, largeSegmentBytes, largeRoundingBytes } = CACHING_ALLOCATOR;
  const rounded = roundedBytes(request);
  if (rounded <= smallBytes) return smallSegmentBytes;
  if (rounded < largeBytes) return largeSegmentBytes;
  return Math.ceil(rounded / largeRoundingBytes) * largeRoundingBytes;
}

/** Bytes of a block that holds a request. */
export function roundedBytes(request: number): number {
  const { roundingBytes } = CACHING_ALLOCATOR;
  return Math.max(1, Math.ceil(request / roundingBytes)) * roundingBytes;
}

/** Least bytes of VRAM behind `count` blocks of equal size: as many to a segment as it holds. */
export function reservedBytes(count: number, request: number): number {
  const segment = segmentBytes(request);
  return Math.ceil(count / Math.floor(segment / roundedBytes(request))) * segment;
}

/** The part of a Hugging Face DynamicCache that lies on one GPU. */
export interface DynamicCache {
  readonly model: Model;
  /** Layers whose keys and values are on the GPU. */
  readonly layers: number;
  readonly tokens: number;
  readonly batch: number;
}

/** Bytes of one layer's keys, or of its values. */
export function cacheTensorBytes({ model, tokens, batch }: Omit<DynamicCache, 'layers'>): number {
  return (appendedBytes(model) / 2) * tokens * batch;
}

/**
 * Least bytes of VRAM of a DynamicCache while a token is decoded: R = ⌈(2 n + 1) / ⌊S / s⌋⌉ S, where s = h_kv d_h d_sz c
 * is a tensor of one of n layers and S its segment (segmentBytes). The one more is the copy: DynamicLayer.update calls
 * torch.cat, which writes keys and token to a new tensor before the old one is freed. Holes that are too small for the
 * next, longer tensor come on top; the simulated allocator has them.
 */
export function dynamicCacheBytes(cache: DynamicCache): number {
  return cache.layers === 0 ? 0 : reservedBytes(2 * cache.layers + 1, cacheTensorBytes(cache));
}

/** The tokens of a pass and the context that they attend to. */
export interface ActivationCase {
  readonly model: Model;
  /** Tokens that are computed together, over all requests. */
  readonly tokens: number;
  /** Requests whose last position gets logits. */
  readonly batch: number;
}

/** Bytes of a 16-bit value and of an F32. */
const [HALF, FULL] = [2, 4];

/**
 * Bytes of the largest activations that a pass holds at once, with fused attention (SDPA): the residual stream, its
 * norm in F32 and in 16 bits, gate and up and their product (Qwen3MLP); or logits of the last position in 16 bits and
 * F32 (generate() asks for that one only). Specification: modeling_qwen3.py of Transformers.
 */
export function activationPeakBytes({ model, tokens, batch }: ActivationCase): number {
  const { vocabularySize } = model;
  const { hiddenSize, ffnSize } = model.mean;
  const layer = tokens * (hiddenSize * (2 * HALF + FULL) + 3 * ffnSize * HALF);
  return Math.max(layer, batch * vocabularySize * (HALF + FULL));
}
