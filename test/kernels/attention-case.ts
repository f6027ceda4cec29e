import fc from 'fast-check';
import type { Kernels } from '../../engine/kernels/kernels.ts';
import { KV_FORMATS, type KvFormat } from '../../engine/model/kv-format.ts';
import { QUANTIZATIONS } from '../../engine/model/quantization.ts';
import { randomFrom, randomValues } from './random-from.ts';

/** The last `tokens` of `before` + `tokens` positions attend to all; `group` query heads share a KV head. */
export interface AttentionCase {
  readonly kvHeads: number;
  readonly group: number;
  readonly headSize: number;
  readonly before: number;
  readonly tokens: number;
  /** Positions that a token sees at most. */
  readonly window?: number | undefined;
  readonly type: KvFormat;
  readonly seed: number;
}

const MOST_POSITIONS = 155;

/** The size of a head, or the next that a cache of this format can hold. */
export function wholeBlocks(type: KvFormat, headSize: number): number {
  const { block } = QUANTIZATIONS[type];
  return block * Math.ceil(headSize / block);
}

/** Includes odd head sizes, windows, of quantized caches whole blocks, and blocks of positions that aren't full. */
export const attentionCases = fc
  .record<AttentionCase>({
    kvHeads: fc.integer({ min: 1, max: 3 }),
    group: fc.integer({ min: 1, max: 5 }),
    headSize: fc.integer({ min: 1, max: 70 }),
    before: fc.integer({ min: 0, max: 150 }),
    tokens: fc.oneof(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 40, max: 140 })),
    window: fc.option(fc.oneof(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 5, max: 170 })), { nil: undefined }),
    type: fc.constantFrom(...KV_FORMATS),
    seed: fc.integer({ min: 1, max: 2 ** 30 }),
  })
  .map((one) => {
    // Scores grow with the position, and rounding errors with scores.
    const before = Math.min(one.before, MOST_POSITIONS - one.tokens);
    return { ...one, before, headSize: wholeBlocks(one.type, one.headSize) };
  });

/** Heads, caches and numbers of tokens that attend in fewer bits. */
export const roundedCases = attentionCases.map((one) => {
  const tokens = Math.max(one.tokens, 8);
  return {
    ...one,
    headSize: 32 * Math.ceil(one.headSize / 32) + (one.type === 'F16' ? 16 : 0),
    before: Math.min(one.before, MOST_POSITIONS - tokens),
    tokens,
    type: one.type === 'F32' ? ('F16' as const) : one.type,
  };
});

/** Random keys, values and queries of a case. Scores grow with the position, so that the maximum changes. */
export function attentionVectors(
  kernels: Kernels,
  { kvHeads, group, headSize, before, tokens, seed }: Omit<AttentionCase, 'type' | 'window'>,
) {
  const random = randomFrom(seed);
  const length = before + tokens;
  const width = kvHeads * headSize;
  const heads = kvHeads * group;
  return {
    random,
    length,
    width,
    heads,
    scale: 1 / Math.sqrt(headSize),
    keys: kernels.vector(randomValues(random, length * width).map((key, i) => key * (1 + i / width / 30))),
    values: kernels.vector(randomValues(random, length * width)),
    queries: kernels.vector(randomValues(random, tokens * heads * headSize, 2)),
  };
}
