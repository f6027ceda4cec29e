/** How a GPU's part of a KV cache is divided into pages, the oldest of which are evicted to RAM (HELM 4.2.2). */
export interface KvPaging {
  /** Tokens per page; a page covers all layers. */
  readonly pageTokens: number;
  /** The share of the GPU's pool above which the oldest page is evicted. */
  readonly watermark: number;
  /** Buffers for slices (one layer's part of a page) of evicted pages: one is read while the next is copied. */
  readonly passingSlices: number;
}

/** Page size and watermark: published, HELM 4.2.2. Two slices: as its Algorithm 3 needs. */
export const HELM_PAGING: KvPaging = { pageTokens: 512, watermark: 0.8, passingSlices: 2 };

/** Paging of a GPU that keeps the newest page alone: all others are in RAM, however much memory the GPU has. */
export const NEWEST_PAGE: KvPaging = { ...HELM_PAGING, watermark: Number.MIN_VALUE };

export interface KvPagesCase {
  readonly paging: KvPaging;
  /** Layers on the GPU. */
  readonly layers: number;
  /** Tokens in the context. */
  readonly tokens: number;
  /** Bytes of one token in one layer, for all requests. */
  readonly tokenBytes: number;
  /** Bytes of VRAM left after the weights. */
  readonly poolBytes: number;
}

/** Location of a context's pages after eviction. */
export interface KvPages {
  readonly pages: number;
  /** Pages in RAM, pinned; the others are on the GPU. */
  readonly evicted: number;
  readonly sliceBytes: number;
  /** Bytes of the pages on the GPU and, if some are evicted, of the slice buffers. */
  readonly gpuBytes: number;
  readonly ramBytes: number;
}

/**
 * The GPU keeps as many pages as fit in the pool below the watermark, and at least the one that tokens are written to.
 * If even that page doesn't fit, `gpuBytes` exceeds `poolBytes`.
 */
export function kvPages({ paging, layers, tokens, tokenBytes, poolBytes }: KvPagesCase): KvPages {
  const { pageTokens, watermark, passingSlices } = paging;
  const pages = Math.ceil(tokens / pageTokens);
  const sliceBytes = pageTokens * tokenBytes;
  const pageBytes = layers * sliceBytes;
  const most = keptPages({ watermark, pageBytes, poolBytes: Math.max(0, poolBytes) });
  const kept = layers === 0 ? pages : Math.min(pages, most);
  const evicted = pages - kept;
  return {
    pages,
    evicted,
    sliceBytes,
    gpuBytes: kept * pageBytes + (evicted > 0 ? passingSlices * sliceBytes : 0),
    ramBytes: evicted * pageBytes,
  };
}

/** Pages that a pool keeps below the watermark, at least one. */
export function keptPages({
  watermark,
  pageBytes,
  poolBytes,
}: {
  readonly watermark: number;
  readonly pageBytes: number;
  readonly poolBytes: number;
}): number {
  return Math.max(1, Math.floor((watermark * poolBytes) / pageBytes));
}
