import { firstSeen } from '../first-seen.ts';
import type { AttendPagesOperation, AttentionOperation, CachePage } from '../operation.ts';
import { type EncodingContext, kernelOf } from './encoding-context.ts';
import type { Dispatch, Kernel } from './program.ts';
import { attendChunks, mergeChunks } from './shaders/attention.ts';
import { kvRowWords } from './shaders/kv-rows.ts';
import { LANES } from './shaders/lanes.ts';

/** Workgroups of attention that keep a GPU busy; contexts are divided further up to it. */
const BUSY_WORKGROUPS = 1024;
/** Positions that a workgroup of attention takes at once. */
const CHUNK_STEP = 64;
/** A window that is larger than every context. */
const NO_WINDOW = 2 ** 30;

interface ChunkedAttention {
  readonly dispatch: Dispatch;
  readonly partial: number;
  readonly chunks: number;
  readonly rows: number;
}

/** Attention to those of `used` positions of a cache that any of the tokens sees, divided so that a GPU is busy. */
function encodeChunks(
  context: EncodingContext,
  { queries, heads, scale, window }: Pick<AttentionOperation, 'queries' | 'heads' | 'scale' | 'window'>,
  {
    cache,
    position,
    used,
  }: { readonly cache: AttentionOperation['cache']; readonly position: number; readonly used: number },
): ChunkedAttention {
  const { kvHeads, capacity, headSize, type } = cache;
  const tokens = queries.values.length / (heads * headSize);
  const rows = tokens * heads;
  const from = Math.floor(Math.min(used, firstSeen(position, window)) / CHUNK_STEP) * CHUNK_STEP;
  const steps = Math.max(1, Math.ceil((used - from) / CHUNK_STEP));
  const chunkLength = CHUNK_STEP * Math.ceil(steps / Math.max(1, Math.min(steps, Math.floor(BUSY_WORKGROUPS / rows))));
  const chunks = Math.max(1, Math.ceil((used - from) / chunkLength));
  const partial = context.scratch(rows * chunks * (headSize + 2));
  const { lanes } = context;
  const name = `attend ${type}, ${headSize}, ${context.lanesName}`;
  const kernel = kernelOf(name, () => attendChunks(type, headSize, lanes), ['read-only-storage']);
  const together = typeof lanes === 'object' ? LANES / lanes.subgroupSize : 1;
  const numbers = [
    ...[context.place(queries), partial, heads, kvHeads, capacity, headSize, kvRowWords(type, headSize)],
    ...[position, Math.min(window ?? NO_WINDOW, NO_WINDOW), from, used, chunks, chunkLength],
  ];
  const dispatch: Dispatch = {
    kernel,
    numbers,
    floats: [scale],
    extras: [context.cache(cache.id)],
    workgroups: [heads, tokens, Math.ceil(chunks / together)],
  };
  return { dispatch, partial, chunks, rows };
}

const MERGE_RESULT: Kernel = { name: 'merge chunks', code: mergeChunks('result') };
const MERGE_PAGES: Kernel = { name: 'merge pages', code: mergeChunks('pages') };

/** The parameters of a merge by which heads begin with their sinks. */
function sinksOf({ place }: EncodingContext, { sinks, heads }: Pick<AttentionOperation, 'sinks' | 'heads'>): number[] {
  return [sinks === undefined ? 0 : place(sinks), sinks === undefined ? 0 : 1, heads];
}

/** Attention to the positions of one cache. */
export function encodeAttention(context: EncodingContext, operation: AttentionOperation): Dispatch[] {
  const { cache, queries, y, heads, position } = operation;
  const tokens = queries.values.length / (heads * cache.headSize);
  const chunked = encodeChunks(context, operation, { cache, position, used: position + tokens });
  const { dispatch, partial, chunks, rows } = chunked;
  const numbers = [partial, context.place(y), 0, 0, cache.headSize, chunks, 1, ...sinksOf(context, operation)];
  return [dispatch, { kernel: MERGE_RESULT, numbers, workgroups: [rows] }];
}

/** Attention to pages, merged with what was seen before. */
export function encodePages(context: EncodingContext, operation: AttendPagesOperation): Dispatch[] {
  const { queries, heads, pages, y, largest, totals, position, window, begins } = operation;
  const [
    {
      cache: { headSize },
    },
  ] = pages as readonly [CachePage];
  const end = position + queries.values.length / (heads * headSize);
  const seen = pages.filter(({ first, count }) => first < end && first + count > firstSeen(position, window));
  // If no page is seen, one unseen page is encoded, which yields the empty result.
  const merged = begins && seen.length === 0 ? pages.slice(0, 1) : seen;
  return merged.flatMap(({ cache, first, count }, index) => {
    const chunked = encodeChunks(context, operation, { cache, position: position - first, used: count });
    const { dispatch, partial, chunks, rows } = chunked;
    const places = [context.place(y), context.place(largest), context.place(totals)];
    const isFirst = begins && index === 0;
    const sinks = sinksOf(context, isFirst ? operation : { heads });
    const numbers = [partial, ...places, cache.headSize, chunks, isFirst ? 1 : 0, ...sinks];
    return [dispatch, { kernel: MERGE_PAGES, numbers, workgroups: [rows] }];
  });
}
