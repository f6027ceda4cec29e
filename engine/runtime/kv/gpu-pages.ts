import { HELM_PAGING } from '../../cost/kv-pages.ts';
import { gpuWeightBytes } from '../../cost/memory.ts';
import { formatBytes } from '../../input/format.ts';
import { InputError } from '../../input/input-error.ts';
import type { CachePlace } from '../../kernels/key-value-cache.ts';
import type { KvFormat } from '../../model/kv-format.ts';
import type { Model } from '../../model/model.ts';
import { planShares, type Share, type SplitPlan } from '../../plan/plan.ts';
import { type PagesPlan, planPages } from './plan-pages.ts';
import { commonSlice, meanSliceBytes, sliceShapes } from './slice-shapes.ts';

/** HELM's paged KV cache with a pool in GPU memory (4.2.2). */
export interface GpuPaging {
  /** Bytes of the GPU for weights and pages; `undefined`: just room for the newest page, so that all others are in RAM. */
  readonly gpuMemory: number | undefined;
  readonly pageTokens: number;
  /** Destination of pages that leave the GPU: RAM first, then a file. */
  readonly place: CachePlace;
}

/** Pages of HELM's size, in as much RAM as they need. */
export const DEFAULT_PAGING: GpuPaging = {
  gpuMemory: undefined,
  pageTokens: HELM_PAGING.pageTokens,
  place: { folder: '', ram: Number.POSITIVE_INFINITY },
};

export interface GpuPagesCase {
  /** Tokens that the KV cache holds. */
  readonly context: number;
  readonly kvCache: KvFormat;
  readonly paging?: GpuPaging | undefined;
}

/**
 * The pages of the layers on the GPU, in what its weights leave of its memory.
 * @throws InputError if that is less than one page and what passes through
 */
export function gpuPages(
  plan: SplitPlan,
  model: Model,
  { context, kvCache, paging = DEFAULT_PAGING }: GpuPagesCase,
): PagesPlan {
  const { gpuMemory, pageTokens } = paging;
  const [{ device, gpuLayers: layers }] = planShares(plan) as [Share];
  const shapes = sliceShapes(model, kvCache, { from: 0, to: model.layers });
  commonSlice(shapes);
  const sliceBytes = meanSliceBytes(shapes, pageTokens);
  if (gpuMemory === undefined) {
    const least = (layers + HELM_PAGING.passingSlices) * sliceBytes;
    return planPages({ budget: least, pageTokens, contextLength: context, layers, sliceBytes });
  }
  const weights = gpuWeightBytes(plan, model, device);
  const least = (layers + HELM_PAGING.passingSlices) * sliceBytes;
  if (weights + Math.min(least, Math.ceil(context / pageTokens) * layers * sliceBytes) > gpuMemory) {
    const page = model.layer.bytes + sliceBytes;
    const fits = Math.floor(
      (gpuMemory - (weights - layers * model.layer.bytes) - HELM_PAGING.passingSlices * sliceBytes) / page,
    );
    const room = fits < 1 ? 'not one layer fits' : fits === 1 ? '1 layer fits' : `${fits} layers fit`;
    const needs = `${layers} layers need ${formatBytes(weights)} and a page of KV cache ${formatBytes(least)}`;
    throw new InputError('--gpu-memory', `${formatBytes(gpuMemory)} is too little: ${needs}; ${room}`);
  }
  return planPages({ budget: gpuMemory - weights, pageTokens, contextLength: context, layers, sliceBytes });
}
