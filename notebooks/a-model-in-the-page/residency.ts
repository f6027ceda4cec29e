import { createPageCache } from '../../simulator/page-cache/page-cache.ts';

/** How layers are kept in memory, by the names of the lesson. */
export const WAYS = {
  'least recently used goes first': 'lru',
  'a pinned prefix stays': 'pinned',
} as const;
export type Way = keyof typeof WAYS;

/** Record of the layers in one pass through the model. */
export interface Pass {
  /** Tokens that went through the layers together. */
  readonly tokens: number;
  /** Whether each layer had to be read. */
  readonly wasRead: readonly boolean[];
}

/** Layers in memory. */
export interface Residency {
  /** A computation needs a layer; whether it has to be read. */
  use(layer: number): boolean;
  has(layer: number): boolean;
}

/**
 * The simulator's page cache with a layer as its extent.
 * @param room layers that fit, at least 1; a pinned prefix leaves one of them to the layers that are streamed
 */
export function createResidency(layers: number, room: number, way: Way): Residency {
  const policy = { name: 'linux', readAhead: 0, overhead: 0 } as const;
  const cache = createPageCache({ size: layers, limit: room, policy, extentBytes: 1 });
  const rangeOf = (layer: number) => ({ from: layer, to: layer + 1 });
  const pinned = room >= layers ? layers : room - 1;
  if (WAYS[way] === 'pinned' && pinned > 0) cache.pin({ from: 0, to: pinned });
  return {
    use(layer) {
      const range = rangeOf(layer);
      const isMissing = cache.next(range).state === 'missing';
      if (isMissing) for (const begun of cache.startRead(range, 'demand')) cache.finishRead(begun);
      cache.touch(range);
      return isMissing;
    },
    has: (layer) => cache.next(rangeOf(layer)).state === 'resident',
  };
}

/** Layers that a token reads in steady state. */
export function layersRead(layers: number, room: number, way: Way): number {
  const residency = createResidency(layers, room, way);
  let read = 0;
  for (let token = 0; token < 3; token++) {
    read = 0;
    for (let layer = 0; layer < layers; layer++) if (residency.use(layer)) read++;
  }
  return read;
}
