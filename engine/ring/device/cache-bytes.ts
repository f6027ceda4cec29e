import type { KeyValueCacheShape } from '../../kernels/key-value-cache.ts';
import type { Shape } from '../../model/architecture.ts';
import { kvBytesPerToken } from '../../model/model.ts';

/** Bytes of the KV caches of some layers. */
export function cacheBytes(shape: Shape, layers: number, tokens: number, kvCache: KeyValueCacheShape['type']): number {
  return layers * tokens * kvBytesPerToken(shape) * (kvCache === 'F32' ? 2 : 1);
}
