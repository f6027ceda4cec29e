import type { KvFormat } from '../../model/kv-format.ts';
import type { LayerCaches } from '../../runtime/context-cache.ts';
import type { WindowPart } from '../../runtime/gpu-layers.ts';
import { FrameError, type FrameSegment } from '../wire/frame.ts';

/** The KV caches of the requests that a device serves, and how far each of its windows has filled them. */
export interface RequestCaches {
  has(request: number): boolean;
  /** The caches of a request, created at its first frame. @throws FrameError for more requests than planned */
  of(request: number, capacity: number): LayerCaches;
  /**
   * Counts a segment's tokens in the caches of a window, where they follow previous ones or take the place of the last
   * of them. @throws FrameError if they leave a gap
   */
  fill(window: number, segment: Pick<FrameSegment, 'request' | 'position' | 'tokens'>): void;
  freeAll(): void;
}

export interface RequestCachesOptions {
  readonly part: Pick<WindowPart, 'createCaches' | 'freeCaches'>;
  readonly layers: readonly number[];
  readonly kvCache: KvFormat;
  /** The most requests at the same time. */
  readonly requests: number;
}

interface Held {
  readonly caches: LayerCaches;
  /** Tokens in the caches by window, including those of waiting frames. */
  readonly filled: Map<number, number>;
}

export function createRequestCaches({ part, layers, kvCache, requests }: RequestCachesOptions): RequestCaches {
  const held = new Map<number, Held>();
  return {
    has: (request) => held.has(request),
    of(request, capacity) {
      const known = held.get(request);
      if (known !== undefined) return known.caches;
      if (held.size >= requests)
        throw new FrameError(`request ${request} in addition to ${held.size}; ${requests} were planned`);
      const caches = part.createCaches(layers, capacity, kvCache);
      held.set(request, { caches, filled: new Map() });
      return caches;
    },
    fill(window, { request, position, tokens }) {
      const filled = held.get(request)?.filled;
      const expected = filled?.get(window) ?? 0;
      if (position > expected)
        throw new FrameError(`token ${position} of request ${request}; the next one is ${expected}`);
      filled?.set(window, position + tokens);
    },
    freeAll() {
      for (const { caches } of held.values()) part.freeCaches(caches);
      held.clear();
    },
  };
}
