import { drawRouting } from './draw-routing.ts';
import type { Routing } from './routing.ts';
import type { Recurrence } from './working-set.ts';

/** Statistics that a routing is drawn from. */
interface Statistics {
  /** Probability that a token uses each expert: [layers][experts]. */
  readonly shares: readonly ArrayLike<number>[];
  readonly recurrence: Recurrence;
}

/** Routings that were drawn: predictions and simulations of many policies ask again for the same. */
const known = new WeakMap<Statistics, Map<string, Routing>>();

/**
 * A routing that is drawn from statistics, of all layers or of some that are spread over them: the same object for the same
 * tokens, layers and seed.
 */
export function drawnRouting(
  statistics: Statistics,
  { tokens, layers, used, seed }: Pick<Routing, 'tokens' | 'layers' | 'used'> & { readonly seed: number },
): Routing {
  const own = known.get(statistics) ?? new Map<string, Routing>();
  known.set(statistics, own);
  const key = `${tokens}/${layers}/${used}/${seed}`;
  const { shares, recurrence } = statistics;
  const popularity = Array.from(
    { length: layers },
    (_, layer) => shares[Math.floor((layer * shares.length) / layers)] as ArrayLike<number>,
  );
  const routing = own.get(key) ?? drawRouting({ tokens, used, popularity, recurrence, seed });
  own.set(key, routing);
  return routing;
}
