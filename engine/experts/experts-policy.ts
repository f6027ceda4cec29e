import { EVICTIONS, type EvictionName } from './evictions.ts';
import type { Pool } from './replay-routing.ts';
import type { Eviction } from './unit-cache.ts';

/** How the experts that don't stay in memory are cached and read: the part of a plan that concerns routed weights. */
export interface ExpertsPolicy {
  /** Slots for experts: of each layer with `pool` layer, of all together with `pool` all; `fit`: what memory has room for. */
  readonly slots: number | 'fit';
  readonly pool: Pool;
  /** `pinned-hottest` holds the experts that were used most so far, and reads the others for one use. */
  readonly eviction: ExpertsEviction;
  readonly method: ReadMethod;
  /** The file that slots are read from: the model's, or one of `hearth pack-experts`, in which an expert is one read. */
  readonly layout: ExpertsLayout;
  /** Reads that are under way at once, at least 1. */
  readonly depth: number;
  readonly lookahead: Lookahead;
  /** Experts that are in memory are multiplied while the others are read. */
  readonly hitsFirst: boolean;
}

/**
 * The policy where none is asked for. Measured by turns, with OLMoE's shape in six layers and 10 slots of 64: two reads
 * under way at once take 0.74 of a token's seconds with one, four 0.58, eight 0.55. Whether hits come first made no
 * difference there (two busy cores, a fast disk).
 */
export const USUAL_EXPERTS: ExpertsPolicy = {
  ...{ slots: 'fit', pool: 'layer', eviction: 'lru', method: 'direct', layout: 'file', depth: 4 },
  ...{ lookahead: { kind: 'none' }, hitsFirst: true },
};

/** Reads that may be under way at once, a thread each. */
export const MOST_DEPTH = 64;

/** Evictions that a plan names. */
export const EXPERTS_EVICTIONS = ['lru', 'lfu', 'slru', 'lfru', 'least-stale', 'random', 'pinned-hottest'] as const;
/** Name of an eviction that a plan may ask for. */
export type ExpertsEviction = EvictionName | 'least-stale' | 'pinned-hottest';

/** The eviction of a cache of experts under a policy. @param experts those of a layer */
export function evictionOf({ eviction }: Pick<ExpertsPolicy, 'eviction'>, experts: number): Eviction {
  switch (eviction) {
    case 'pinned-hottest':
      return { kind: 'hottest' };
    case 'least-stale':
      return { kind: 'least-stale', layerUnits: experts };
    default:
      return EVICTIONS[eviction];
  }
}

/**
 * How bytes come from the file: `direct` past the page cache, `pread` through it into slots, `mmap` as pages of the
 * mapped file, without slots of their own.
 */
export const READ_METHODS = ['direct', 'pread', 'mmap'] as const;
export type ReadMethod = (typeof READ_METHODS)[number];

export const EXPERTS_LAYOUTS = ['file', 'packed'] as const;
export type ExpertsLayout = (typeof EXPERTS_LAYOUTS)[number];

/**
 * Experts that are read before a router has asked for them. `next-router`: the first `ranks` choices of the next
 * layer's router from this layer's input. `previous-token`: the experts that the token before used in the next layer.
 */
export type Lookahead =
  | { readonly kind: 'none' }
  | { readonly kind: 'next-router'; readonly ranks: number }
  | { readonly kind: 'previous-token' };
export const LOOKAHEADS = ['none', 'next-router', 'previous-token'] as const satisfies Lookahead['kind'][];
