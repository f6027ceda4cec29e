import type { Operation } from '../../kernels/operation.ts';
import type { Vector } from '../../kernels/vector.ts';
import { DEFAULT_KV_FORMAT, kvBytesPerToken } from '../../model/kv-format.ts';
import { afterWeights } from './after-weights.ts';
import type { Bench } from './bench.ts';

/** Keys' heads of common models (Llama 3, Qwen 2.5 and 3). */
const SHAPE = { kvHeads: 8, headSize: 128 };
/** Tokens of a page of `hearth serve`, and of a text. */
const PAGE_TOKENS = 64;
const CONTEXT = 256;
/** Texts of a layer, one after the other: so few that a run is short, which other programs seldom disturb. */
const TEXTS = 4;
/** Smallest share of the whole, for when noise makes the text's first token take as long as all. */
const LEAST_SHARE = 0.01;

/** Query heads that share a key: two numbers of them tell what is computed from what is read. */
export const QUERY_GROUPS = { few: 1, many: 4 } as const;
/** FLOPs of attention for each byte of KV cache and each query of its key: 4 d_h for each head and token (HELM Eq. 4.11). */
export const FLOPS_PER_QUERY = (4 * SHAPE.kvHeads * SHAPE.headSize) / kvBytesPerToken(SHAPE);
export type QueryGroup = keyof typeof QUERY_GROUPS;

/**
 * Measures the seconds for each byte of KV cache that attention of a generated token to a text in pages takes beyond the
 * text's first token, which counts with what a text takes in a layer.
 */
export function pagedAttention(bench: Bench, group: QueryGroup): () => Promise<number> {
  const { kernels } = bench;
  const { kvHeads, headSize } = SHAPE;
  const heads = QUERY_GROUPS[group] * kvHeads;
  const vector = (width: number): Vector => kernels.vector(new Float32Array(width).fill(0.01));
  const texts = Array.from({ length: TEXTS }, () => ({
    ...{ queries: vector(heads * headSize), y: vector(heads * headSize) },
    ...{ largest: vector(heads), totals: vector(heads) },
    pages: Array.from({ length: CONTEXT / PAGE_TOKENS }, (_, page) => ({
      cache: kernels.cache({ type: DEFAULT_KV_FORMAT, ...SHAPE, capacity: PAGE_TOKENS }),
      first: page * PAGE_TOKENS,
      count: PAGE_TOKENS,
    })),
  }));
  const scale = 1 / Math.sqrt(headSize);
  const attendTo = (tokens: number): (() => Promise<number>) => {
    const operations = texts.map(({ pages, ...text }): Operation => {
      const used = pages
        .filter(({ first }) => first < tokens)
        .map(({ count, ...page }) => ({ ...page, count: Math.min(count, tokens) }));
      const own = { ...text, pages: used, heads, position: tokens - 1 };
      return { kind: 'attend-pages', ...own, begins: true, scale, multiplied: 'singly' };
    });
    return afterWeights(bench, () => kernels.run(operations));
  };
  const [toAll, toOne] = [attendTo(CONTEXT), attendTo(1)];
  const bytes = TEXTS * (CONTEXT - 1) * kvBytesPerToken(SHAPE);
  return async () => {
    const all = await toAll();
    return Math.max(all - (await toOne()), LEAST_SHARE * all) / bytes;
  };
}
