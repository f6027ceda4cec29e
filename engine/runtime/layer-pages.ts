import type { Kernels } from '../kernels/kernels.ts';
import type { CachePlace } from '../kernels/key-value-cache.ts';
import type { Shape } from '../model/architecture.ts';
import { type KvFormat, sharedHeads } from '../model/kv-format.ts';
import type { RunRecorder } from '../trace/run-recorder.ts';
import { type ContextCache, pagedCache } from './context-cache.ts';
import type { PagePool } from './kv/page-pool.ts';
import { createPagedCache, type PagedCache, slicePool } from './kv/paged-cache.ts';
import type { PagesPlan } from './kv/plan-pages.ts';

/** Keys and values of consecutive layers in pages, from memory that sequences share. */
export interface LayerPages {
  readonly pool: PagePool;
  /** The pages of one more sequence. */
  open(): PagedLayers;
}

/** One sequence's part of them. */
export interface PagedLayers {
  readonly pages: PagedCache;
  readonly cache: ContextCache;
}

export interface LayerPagesOptions {
  readonly kernels: Kernels;
  readonly shape: Pick<Shape, 'kinds' | 'name'>;
  readonly type: KvFormat;
  readonly firstLayer: number;
  readonly plan: PagesPlan;
  /** Where evicted pages go. */
  readonly place: CachePlace;
  readonly recorder?: RunRecorder | undefined;
}

export function createLayerPages({ shape, type, firstLayer, ...options }: LayerPagesOptions): LayerPages {
  const own = { ...options, shape: { type, ...sharedHeads(shape) } };
  const pool = slicePool(own);
  return {
    pool,
    open() {
      const pages = createPagedCache({ ...own, pool });
      return { pages, cache: pagedCache(pages, firstLayer) };
    },
  };
}
