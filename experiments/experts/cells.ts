import { drawRouting, zipfPopularity } from '../../engine/experts/draw-routing.ts';
import {
  EXPERTS_EVICTIONS,
  type ExpertsPolicy,
  type Lookahead,
  READ_METHODS,
} from '../../engine/experts/experts-policy.ts';
import { POOLS } from '../../engine/experts/replay-routing.ts';
import type { Routing } from '../../engine/experts/routing.ts';
import { randomStream } from '../../engine/input/random-stream.ts';

export interface CellsCase {
  readonly count: number;
  readonly seed: number;
  /** k and the layers with experts. */
  readonly used: number;
  readonly layers: number;
  /** Slots of all layers that memory has room for. */
  readonly most: number;
}

/** Evictions that are drawn: least-stale is lru for a cache of each layer. */
const EVICTIONS = EXPERTS_EVICTIONS.filter((name) => name !== 'least-stale');

/** Policies with every part drawn at random, slots from the experts of one token to all that there is room for. */
export function drawnPolicies({ count, seed, used, layers, most }: CellsCase): ExpertsPolicy[] {
  const random = randomStream(seed, 'policies');
  return Array.from({ length: count }, (): ExpertsPolicy => {
    const method = random.pick(READ_METHODS);
    const pool = random.pick(POOLS);
    const eviction = random.pick(EVICTIONS);
    const depth = random.pick([1, 2, 4, 8]);
    const hitsFirst = random.next() < 0.5;
    const guesses: readonly Lookahead[] = [
      ...([{ kind: 'none' }, { kind: 'none' }, { kind: 'previous-token' }] as const),
      { kind: 'next-router', ranks: random.integer(1, used) },
    ];
    const drawn = random.pick(guesses);
    // Experts that pass through take slots too.
    const passing = eviction === 'pinned-hottest' ? used * (pool === 'all' ? 1 : layers) : 0;
    const all = random.integer(used * layers, Math.max(used * layers, most - passing));
    const lookahead: Lookahead = eviction === 'pinned-hottest' ? { kind: 'none' } : drawn;
    if (method === 'mmap') return { ...MAPPED, method, depth, hitsFirst, lookahead };
    return {
      slots: pool === 'all' ? all : Math.floor(all / layers),
      pool,
      eviction,
      method,
      layout: 'file',
      depth,
      hitsFirst,
      lookahead,
    };
  });
}

/** A routing that is drawn with a popularity and a recurrence such as recorded ones have. */
export function drawnTokens({
  layers,
  experts,
  used,
  tokens,
  seed,
}: Omit<Routing, 'chosen'> & { readonly seed: number }): Routing {
  const popularity = zipfPopularity({ layers, experts, seed }, 0.8);
  return drawRouting({ tokens, used, popularity, recurrence: { previous: 0.2, recent: 0.15, window: 16 }, seed });
}

/** Settings of slots for policies that have none. */
const MAPPED = { slots: 'fit', pool: 'layer', eviction: 'lru', layout: 'file' } as const;

/** A policy in a few words. */
export function policyName({ slots, pool, eviction, method, depth, lookahead, hitsFirst }: ExpertsPolicy): string {
  const cache = method === 'mmap' ? [] : [`${slots} slots`, ...(pool === 'all' ? ['pool'] : []), eviction];
  const ahead =
    lookahead.kind === 'none'
      ? []
      : [lookahead.kind === 'next-router' ? `next-router:${lookahead.ranks}` : lookahead.kind];
  return [method, ...cache, `depth ${depth}`, ...ahead, ...(hitsFirst ? ['hits first'] : [])].join(', ');
}
