import type { KeyValueCache } from '../../kernels/key-value-cache.ts';
import type { Operation } from '../../kernels/operation.ts';
import { DEFAULT_KV_FORMAT, type KvFormat, kvBytesPerToken } from '../../model/kv-format.ts';
import { type Bench, secondsPerOperations } from './bench.ts';

/** Heads of common models (Llama 3, Qwen 2.5 and 3): four queries share a key. */
const HEADS = 32;
const KV_HEADS = 8;
const HEAD_SIZE = 128;
/** Bytes of a position's keys and values. */
const positionBytes = (format: KvFormat): number => kvBytesPerToken({ kvHeads: KV_HEADS, headSize: HEAD_SIZE }, format);
/** FLOPs of attention for each byte of KV cache that it attends to: 4 d_h for each head and token (HELM Eq. 4.11). */
export const FLOPS_PER_BYTE = (4 * HEADS * HEAD_SIZE) / positionBytes(DEFAULT_KV_FORMAT);

/**
 * A layer's cache has 2 MiB; together the layers exceed any second-level cache, so the next token reads them from
 * memory.
 */
const POSITIONS = 512;
const LAYERS = 64;
/** Tokens of a prompt that attend together, each to those before it and to itself. */
const PROMPT_TOKENS = 256;

/** Measures bytes of KV cache per second in decode: layer after layer, each from memory. */
export function attentionFromMemory(bench: Bench, format: KvFormat): () => Promise<number> {
  return attention(bench, format, { positions: POSITIONS, tokens: 1, layers: LAYERS });
}

/**
 * Measures bytes of KV cache per second in prefill, as if each token read what it attends to: kernels read it once for
 * many tokens.
 */
export function attentionFromCache(bench: Bench, format: KvFormat): () => Promise<number> {
  return attention(bench, format, { positions: PROMPT_TOKENS, tokens: PROMPT_TOKENS, layers: 1 });
}

function attention(
  bench: Bench,
  type: KvFormat,
  { positions, tokens, layers }: { readonly positions: number; readonly tokens: number; readonly layers: number },
): () => Promise<number> {
  const { kernels } = bench;
  const shape = { type, kvHeads: KV_HEADS, capacity: positions, headSize: HEAD_SIZE };
  const caches = Array.from({ length: layers }, () => kernels.cache(shape));
  const queries = kernels.vector(new Float32Array(tokens * HEADS * HEAD_SIZE).fill(0.01));
  const y = kernels.vector(tokens * HEADS * HEAD_SIZE);
  const [position, scale] = [positions - tokens, 1 / Math.sqrt(HEAD_SIZE)];
  const perLayer = secondsPerOperations(bench, (index): Operation[] => {
    const cache = caches[index % layers] as KeyValueCache;
    return [{ kind: 'attention', cache, queries, y, heads: HEADS, position, scale }];
  });
  const attended = tokens * position + (tokens * (tokens + 1)) / 2;
  return async () => (attended * positionBytes(type)) / (await perLayer());
}

/** Bytes of one token's keys and values in one layer, which `keyValueCopy` appends. */
export const COPIED_BYTES = positionBytes(DEFAULT_KV_FORMAT);

/** Measures the seconds to append one token's keys and values to the cache of one layer. */
export function keyValueCopy(bench: Bench): () => Promise<number> {
  const { kernels } = bench;
  const cache = kernels.cache({
    type: DEFAULT_KV_FORMAT,
    ...{ kvHeads: KV_HEADS, capacity: POSITIONS, headSize: HEAD_SIZE },
  });
  const keys = kernels.vector(KV_HEADS * HEAD_SIZE);
  const values = kernels.vector(KV_HEADS * HEAD_SIZE);
  return secondsPerOperations(bench, (index): Operation[] => {
    return [{ kind: 'store', cache, keys, values, position: index % POSITIONS }];
  });
}
