/** How a GPU's part of a KV cache is cut into pages, of which the oldest leave for RAM (HELM 4.2.2). */
export interface KvPaging {
  /** Tokens of a page, in all layers. */
  readonly pageTokens: number;
  /** The share of the GPU's pool above which the oldest page is evicted. */
  readonly watermark: number;
  /** Slices, one layer's part of a page, that evicted pages pass through: one is attended to while the next is copied. */
  readonly passingSlices: number;
}

/** Pages and watermark: published, HELM 4.2.2. Slices: two are what its Algorithm 3 needs. */
export const HELM_PAGING: KvPaging = { pageTokens: 512, watermark: 0.8, passingSlices: 2 };

export interface KvPagesCase {
  readonly paging: KvPaging;
  /** Layers on the GPU. */
  readonly layers: number;
  /** In the context. */
  readonly tokens: number;
  /** Bytes of a token in one layer, for all requests. */
  readonly tokenBytes: number;
  /** VRAM that weights leave. */
  readonly poolBytes: number;
}

/** Where the pages of a context are, once what has to leave has left. */
export interface KvPages {
  readonly pages: number;
  /** In RAM, pinned; the others are on the GPU. */
  readonly evicted: number;
  readonly sliceBytes: number;
  /** Of the pages that a GPU keeps and, where some are evicted, of the slices that pass through. */
  readonly gpuBytes: number;
  readonly ramBytes: number;
}

/**
 * All pages stay where the pool has room for them below the watermark; else as many as that, at least the one that
 * tokens are written to. `gpuBytes` above `poolBytes`: even that doesn't fit.
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
