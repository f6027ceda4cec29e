import { HELM_PAGING, type KvPages, kvPages } from '../../engine/cost/kv-pages.ts';
import { nothingSeen, type SeenScores, seePage, softmax } from '../../engine/kernels/reference/attention.ts';
import { kvBytesPerToken, modelKvBytesPerToken } from '../../engine/model/kv-format.ts';
import type { Model } from '../../engine/model/model.ts';

/** A token of the context as one query sees it: its score, and a value of one number. */
export interface ContextToken {
  readonly name: string;
  readonly score: number;
  readonly value: number;
}

/** The context of HELM's running example (4.2.3.4, Table 4.2). */
export const EXAMPLE: readonly ContextToken[] = [
  { name: 'T1', score: 2, value: 10 },
  { name: 'T2', score: 4, value: 30 },
  { name: 'T3', score: 1, value: 5 },
  { name: 'T4', score: 0, value: 2 },
  { name: 'T5', score: 1, value: 8 },
  { name: 'T6', score: 2, value: 12 },
];

/** State after a page: (m, s, o) of HELM Eqs. 4.18–4.20. */
export interface PageStep {
  readonly tokens: readonly ContextToken[];
  readonly m: number;
  readonly s: number;
  readonly o: number;
}

export interface Streamed {
  readonly steps: readonly PageStep[];
  /** o/s after the last page. */
  readonly streamed: number;
  /** Eq. 4.17 over the whole context at once. */
  readonly whole: number;
  /** Σ e^score · value / Σ e^score without subtracting the largest score first: overflows beyond 709. */
  readonly naive: number;
  /** Softmax over the whole context. */
  readonly weights: readonly number[];
}

/** Attends to a context page by page, as the reference kernel does, and at once. */
export function stream(tokens: readonly ContextToken[], pageTokens: number, order: 'oldest' | 'newest'): Streamed {
  const pages: (readonly ContextToken[])[] = [];
  for (let from = 0; from < tokens.length; from += pageTokens) pages.push(tokens.slice(from, from + pageTokens));
  if (order === 'newest') pages.reverse();
  const steps: PageStep[] = [];
  let seen: SeenScores = nothingSeen(1);
  for (const page of pages) {
    seen = seePage(
      seen,
      page.map(({ score }) => score),
      (position) => [page[position]?.value ?? 0],
    );
    steps.push({ tokens: page, m: seen.largest, s: seen.total, o: seen.sums[0] as number });
  }
  const weights = Array.from(softmax(tokens.map(({ score }) => score)));
  const sum = (of: (token: ContextToken, index: number) => number): number =>
    tokens.reduce((total, token, index) => total + of(token, index), 0);
  return {
    steps,
    streamed: (seen.sums[0] as number) / seen.total,
    whole: sum(({ value }, index) => (weights[index] as number) * value),
    naive: sum(({ score, value }) => Math.exp(score) * value) / sum(({ score }) => Math.exp(score)),
    weights,
  };
}

/** The reader's settings of the memory. */
export interface MemorySetting {
  readonly tokens: number;
  readonly pageTokens: number;
  /** Bytes of GPU memory in addition to the weights. */
  readonly poolBytes: number;
}

/** Pages of a context of a model whose layers are all on the GPU (HELM 4.2.2). */
export function pagesOf(model: Model, { tokens, pageTokens, poolBytes }: MemorySetting): KvPages {
  return kvPages({
    paging: { ...HELM_PAGING, pageTokens },
    layers: model.layers,
    tokens,
    tokenBytes: kvBytesPerToken(model.mean),
    poolBytes,
  });
}

/** Bytes of keys and values of a token in all layers. */
export function tokenBytes(model: Model): number {
  return modelKvBytesPerToken(model);
}

/** Bytes of the last page that no token uses yet. */
export function unusedBytes(model: Model, { tokens, pageTokens }: MemorySetting): number {
  return (Math.ceil(tokens / pageTokens) * pageTokens - tokens) * tokenBytes(model);
}
