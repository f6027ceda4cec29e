import { drawRouting } from '../../engine/experts/draw-routing.ts';
import { EVICTIONS, type EvictionName } from '../../engine/experts/evictions.ts';
import { expertsOf } from '../../engine/experts/routing.ts';
import { createUnitCache } from '../../engine/experts/unit-cache.ts';
import type { RoutingStatistics } from '../../engine/experts/usual-routing.ts';

/** An expert at a token: in a slot before the token and used, in a slot and not, or read for it. */
export interface ExpertMoment {
  readonly token: number;
  /** Place by popularity, the most popular first. */
  readonly rank: number;
  readonly state: 'hit' | 'held' | 'read';
}

export interface LayerCase {
  /** Layers alike. */
  readonly routing: RoutingStatistics;
  readonly used: number;
  readonly slots: number;
  readonly eviction: EvictionName;
  readonly tokens: number;
}

/** One layer's slots, token by token, after as many tokens as it takes to fill them. */
export function layerMoments({
  routing: { shares, recurrence },
  used,
  slots,
  eviction,
  tokens,
}: LayerCase): ExpertMoment[] {
  const popularity = shares[0] as ArrayLike<number>;
  const experts = popularity.length;
  const warmUp = 2 * tokens;
  const routing = drawRouting({
    ...{ tokens: warmUp + tokens, used, popularity: [popularity], recurrence, seed: 1 },
  });
  const byUse = Array.from({ length: experts }, (_, expert) => expert).sort(
    (one, other) => (popularity[other] as number) - (popularity[one] as number),
  );
  const cache = createUnitCache({ slots, eviction: EVICTIONS[eviction], sparesNeeded: true, seed: 1 });
  const moments: ExpertMoment[] = [];
  for (let token = 0; token < warmUp + tokens; token++) {
    const chosen = expertsOf(routing, token, 0);
    if (token >= warmUp)
      for (const [rank, expert] of byUse.entries()) {
        const [held, isUsed] = [cache.holds(expert), chosen.includes(expert)];
        if (held || isUsed)
          moments.push({ token: token - warmUp, rank, state: isUsed ? (held ? 'hit' : 'read') : 'held' });
      }
    cache.need(chosen);
  }
  return moments;
}
