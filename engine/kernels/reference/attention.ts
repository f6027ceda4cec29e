import { BLOCK_FORMATS } from '../../gguf/formats/formats.ts';
import type { KvFormat } from '../../model/kv-format.ts';
import { QUANTIZATIONS } from '../../model/quantization.ts';
import { firstSeen } from '../first-seen.ts';
import type { KeyValueCache } from '../key-value-cache.ts';
import type { AttendPagesOperation, AttentionOperation, CachePage, StoreOperation } from '../operation.ts';
import type { ReferenceMemory } from './memory.ts';
import { dot } from './multiply.ts';

/** Writes keys and values of tokens to a cache. */
export function store(memory: ReferenceMemory, { cache, keys, values, position }: StoreOperation): void {
  const { kvHeads, capacity, headSize } = cache;
  const to = memory.caches[cache.id] as ReferenceMemory['caches'][number];
  for (let head = 0; head < keys.values.length / headSize; head++) {
    const token = Math.floor(head / kvHeads);
    const at = ((head % kvHeads) * capacity + position + token) * headSize;
    to.keys.set(roundedAs(cache.type, keys.values.subarray(head * headSize, (head + 1) * headSize)), at);
    to.values.set(roundedAs(cache.type, values.values.subarray(head * headSize, (head + 1) * headSize)), at);
  }
}

/** Values as a cache of the format holds them; NaN where a block has a value that isn't finite. */
export function roundedAs(format: KvFormat, values: Float32Array): Float32Array {
  const { block, bytes } = QUANTIZATIONS[format];
  const { encode, decode } = BLOCK_FORMATS[format];
  const stored = new Uint8Array(bytes);
  const rounded = new Float32Array(values.length);
  for (let from = 0; from < values.length; from += block) {
    if (block > 1 && !values.subarray(from, from + block).every(Number.isFinite)) {
      rounded.fill(Number.NaN, from, from + block);
      continue;
    }
    encode(values, from, stored, 0);
    decode(stored, 0, rounded, from);
  }
  return rounded;
}

/** Causal attention over a whole context, or a window of it. */
export function attention(memory: ReferenceMemory, operation: AttentionOperation): void {
  const { cache, queries, y, heads } = operation;
  const { headSize } = cache;
  const { values } = memory.caches[cache.id] as ReferenceMemory['caches'][number];
  for (let row = 0; row < queries.values.length / headSize; row++) {
    const base = headBase(cache, row % heads, heads);
    const weights = attentionWeights(memory, operation, row);
    const first = firstSeen(weights.length - 1, operation.window);
    for (let i = 0; i < headSize; i++) {
      let sum = 0;
      for (let p = first; p < weights.length; p++)
        sum += (weights[p] as number) * (values[base + p * headSize + i] as number);
      y.values[row * headSize + i] = sum;
    }
  }
}

/**
 * How a head of a token weights the positions from 0 to the token's own: softmax(scale·q·Kᵀ) of those that it sees
 * (Vaswani et al. 2017, Eq. 1), and 0 before its window; a sink takes the rest. The keys must be in the cache, and the
 * queries as the operation was given them.
 * @param row token · heads + head, counted over the operation's tokens
 */
export function attentionWeights(
  memory: ReferenceMemory,
  { cache, queries, heads, position, window, scale, sinks }: AttentionOperation,
  row: number,
): Float64Array {
  const { headSize } = cache;
  const { keys } = memory.caches[cache.id] as ReferenceMemory['caches'][number];
  const query = queries.values.subarray(row * headSize, (row + 1) * headSize);
  const own = position + Math.floor(row / heads);
  const first = firstSeen(own, window);
  const base = headBase(cache, row % heads, heads);
  const keyAt = (p: number): Float32Array => keys.subarray(base + p * headSize, base + (p + 1) * headSize);
  const scores = Array.from({ length: own + 1 - first }, (_, i) => scale * dot(query, keyAt(first + i)));
  const weights = new Float64Array(own + 1);
  const sink = sinks?.values[row % heads];
  const shares = softmax(sink === undefined ? scores : [...scores, sink]);
  weights.set(shares.subarray(0, scores.length), first);
  return weights;
}

/** Index at which the keys and values of a query head begin in its cache. */
function headBase({ kvHeads, capacity, headSize }: KeyValueCache, head: number, heads: number): number {
  return Math.floor((head * kvHeads) / heads) * capacity * headSize;
}

/** Merges pages of a context into the attention over other pages, one after another. */
export function attendPages(memory: ReferenceMemory, operation: AttendPagesOperation): void {
  for (const [index, page] of operation.pages.entries())
    attendPage(memory, operation, page, operation.begins && index === 0);
}

function attendPage(
  memory: ReferenceMemory,
  { queries, y, largest, totals, heads, position, window, scale, sinks }: AttendPagesOperation,
  { cache, first, count }: CachePage,
  begins: boolean,
): void {
  const { headSize } = cache;
  const held = memory.caches[cache.id] as ReferenceMemory['caches'][number];
  for (let head = 0; head < queries.values.length / headSize; head++) {
    const place = head * headSize;
    const query = queries.values.subarray(place, place + headSize);
    const own = position + Math.floor(head / heads);
    const end = Math.max(0, Math.min(count, own + 1 - first));
    const from = Math.min(end, Math.max(0, firstSeen(own, window) - first));
    const base = headBase(cache, head % heads, heads);
    const at = (values: Float32Array, p: number): Float32Array =>
      values.subarray(base + p * headSize, base + (p + 1) * headSize);
    const before = begins
      ? nothingSeen(headSize, sinks?.values[head % heads])
      : {
          largest: largest.values[head] as number,
          total: totals.values[head] as number,
          sums: y.values.slice(place, place + headSize),
        };
    const scores = Array.from({ length: end - from }, (_, i) => scale * dot(query, at(held.keys, from + i)));
    const seen = seePage(before, scores, (i) => at(held.values, from + i));
    largest.values[head] = seen.largest;
    totals.values[head] = seen.total;
    y.values.set(seen.sums, place);
  }
}

/**
 * Summary of the context that a head has seen so far: the largest score m, the sum s of e^(score − m), and the values
 * weighted with e^(score − m), o. o/s is the attention over what was seen.
 */
export interface SeenScores {
  readonly largest: number;
  readonly total: number;
  readonly sums: ArrayLike<number>;
}

/** Before anything is seen: m = −∞, s = 0, o = 0 (HELM Algorithm 3, line 1), or with a sink m = sink, s = 1. */
export function nothingSeen(headSize: number, sink?: number): SeenScores {
  const sums = new Float64Array(headSize);
  return sink === undefined ? { largest: Number.NEGATIVE_INFINITY, total: 0, sums } : { largest: sink, total: 1, sums };
}

/**
 * Merges a page of positions into what was seen, in any order of pages:
 * m_i = max(m_{i−1}, max_j e_ij), s_i = e^(m_{i−1} − m_i) s_{i−1} + Σ_j e^(e_ij − m_i), and o_i likewise with values
 * (HELM Eqs. 4.18–4.20). A page without positions changes nothing.
 * @param scores e_ij, one for each position
 * @param valueAt v_ij of a position, as long as `sums`
 */
export function seePage(
  { largest, total, sums }: SeenScores,
  scores: ArrayLike<number>,
  valueAt: (position: number) => ArrayLike<number>,
): SeenScores {
  let newLargest = largest;
  for (let j = 0; j < scores.length; j++) newLargest = Math.max(newLargest, scores[j] as number);
  if (newLargest === Number.NEGATIVE_INFINITY) return { largest, total, sums };
  const rescale = Math.exp(largest - newLargest);
  let newTotal = rescale * total;
  const newSums = Float64Array.from(sums, (sum) => rescale * sum);
  for (let j = 0; j < scores.length; j++) {
    const weight = Math.exp((scores[j] as number) - newLargest);
    const value = valueAt(j);
    newTotal += weight;
    for (let i = 0; i < newSums.length; i++) newSums[i]! += weight * (value[i] as number);
  }
  return { largest: newLargest, total: newTotal, sums: newSums };
}

/** e^x / Σ e^x in float64. */
export function softmax(scores: ArrayLike<number>): Float64Array {
  let largest = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < scores.length; i++) largest = Math.max(largest, scores[i] as number);
  const weights = Float64Array.from(scores, (score) => Math.exp(score - largest));
  let total = 0;
  for (const weight of weights) total += weight;
  return weights.map((weight) => weight / total);
}
