import type { Kernels } from '../../kernels/kernels.ts';
import type { CachePlace } from '../../kernels/key-value-cache.ts';
import type { Shape } from '../../model/architecture.ts';
import type { KvFormat } from '../../model/kv-format.ts';
import type { RunRecorder } from '../../trace/run-recorder.ts';
import { createLayerStates, type LayerStates } from '../kv/layer-states.ts';
import type { PagePool } from '../kv/page-pool.ts';
import { createPagedCache, type PagedCache, slicePool } from '../kv/paged-cache.ts';
import type { PagesPlan } from '../kv/plan-pages.ts';
import { sliceShapes } from '../kv/slice-shapes.ts';
import { type ContextCache, pagedCache } from '../pass/context-cache.ts';

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
  /** Gives the memory back. */
  close(): void;
}

export interface LayerPagesOptions {
  readonly kernels: Kernels;
  readonly shape: Pick<Shape, 'kinds' | 'name' | 'hiddenSize'>;
  readonly type: KvFormat;
  readonly firstLayer: number;
  readonly plan: PagesPlan;
  /** Destination of evicted pages. */
  readonly place: CachePlace;
  readonly recorder?: RunRecorder | undefined;
}

export function createLayerPages({ shape, type, firstLayer, ...options }: LayerPagesOptions): LayerPages {
  const { kernels, plan } = options;
  const layers = { from: firstLayer, to: firstLayer + plan.layers };
  const own = { ...options, shapes: sliceShapes(shape, type, layers) };
  const pool = slicePool(own);
  /** States of sequences that are closed, which others take over: vectors live as long as their kernels. */
  const unused: LayerStates[] = [];
  return {
    pool,
    open() {
      const pages = createPagedCache({ ...own, pool });
      const states = unused.pop() ?? createLayerStates(kernels, shape, layers);
      return {
        pages,
        cache: pagedCache(pages, firstLayer, states),
        close() {
          pages.release();
          if (states !== undefined) unused.push(states);
        },
      };
    },
  };
}
