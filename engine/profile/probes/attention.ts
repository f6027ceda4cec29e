import type { KeyValueCache } from '../../kernels/key-value-cache.ts';
import type { Operation } from '../../kernels/operation.ts';
import { type Bench, secondsPerOperation } from './bench.ts';

/** Heads of the models that most people run (Llama 3, Qwen 2.5 and 3): four queries share a key. */
const HEADS = 32;
const KV_HEADS = 8;
const HEAD_SIZE = 128;
/** Keys and values of a position, F16. */
const POSITION_BYTES = 2 * 2 * KV_HEADS * HEAD_SIZE;

/** A layer's cache of 2 MiB, and as many layers as no second-level cache holds: the next token finds them in memory. */
const POSITIONS = 512;
const LAYERS = 64;
/** What a prompt's tokens meet on the average, again and again: 1 MiB. */
const PROMPT_POSITIONS = 256;

/** Bytes of KV cache per second in decode: layer after layer, each from memory. */
export function attentionFromMemory(bench: Bench): () => number {
  return attention(bench, POSITIONS, LAYERS);
}

/** The same in prefill: one layer for token after token, from a cache. */
export function attentionFromCache(bench: Bench): () => number {
  return attention(bench, PROMPT_POSITIONS, 1);
}

function attention(bench: Bench, positions: number, layers: number): () => number {
  const { kernels } = bench;
  const shape = { type: 'F16', kvHeads: KV_HEADS, capacity: positions, headSize: HEAD_SIZE } as const;
  const caches = Array.from({ length: layers }, () => kernels.cache(shape));
  const queries = kernels.vector(new Float32Array(HEADS * HEAD_SIZE).fill(0.01));
  const y = kernels.vector(HEADS * HEAD_SIZE);
  const [position, scale] = [positions - 1, 1 / Math.sqrt(HEAD_SIZE)];
  const perLayer = secondsPerOperation(bench, (index): Operation => {
    const cache = caches[index % layers] as KeyValueCache;
    return { kind: 'attention', cache, queries, y, heads: HEADS, position, scale };
  });
  return () => (positions * POSITION_BYTES) / perLayer();
}

/** A token's keys and values of one layer, bytes: what `keyValueCopy` appends. */
export const COPIED_BYTES = POSITION_BYTES;

/** Seconds to append one token's keys and values to the cache of one layer. */
export function keyValueCopy(bench: Bench): () => number {
  const { kernels } = bench;
  const cache = kernels.cache({ type: 'F16', kvHeads: KV_HEADS, capacity: POSITIONS, headSize: HEAD_SIZE });
  const keys = kernels.vector(KV_HEADS * HEAD_SIZE);
  const values = kernels.vector(KV_HEADS * HEAD_SIZE);
  return secondsPerOperation(bench, (index): Operation => {
    return { kind: 'store', cache, keys, values, position: index % POSITIONS };
  });
}
