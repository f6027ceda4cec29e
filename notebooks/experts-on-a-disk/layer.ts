import { drawRouting } from '../../engine/experts/draw-routing.ts';
import { EVICTIONS, type EvictionName } from '../../engine/experts/evictions.ts';
import { expertsOf, type Routing, usesOf } from '../../engine/experts/routing.ts';
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
  /** A routing with one layer. */
  readonly routing: Routing;
  readonly slots: number;
  readonly eviction: EvictionName;
  /** The last tokens, which are looked at; those before fill the slots. */
  readonly tokens: number;
}

/** A layer's routing by what is known of it. @param tokens the number that is drawn */
export function drawnLayer({ shares, recurrence }: RoutingStatistics, used: number, tokens: number): Routing {
  return drawRouting({ tokens, used, popularity: [shares[0] as ArrayLike<number>], recurrence, seed: 1 });
}

/** One layer's slots, token by token, at the end of its routing. */
export function layerMoments({ routing, slots, eviction, tokens }: LayerCase): ExpertMoment[] {
  const [uses] = usesOf(routing) as [Uint32Array];
  const byUse = Array.from(uses.keys()).sort((one, other) => (uses[other] as number) - (uses[one] as number));
  const cache = createUnitCache({ slots, eviction: EVICTIONS[eviction], sparesNeeded: true, seed: 1 });
  const moments: ExpertMoment[] = [];
  const first = routing.tokens - tokens;
  for (let token = 0; token < routing.tokens; token++) {
    const chosen = expertsOf(routing, token, 0);
    if (token >= first)
      for (const [rank, expert] of byUse.entries()) {
        const [held, isUsed] = [cache.holds(expert), chosen.includes(expert)];
        if (held || isUsed)
          moments.push({ token: token - first, rank, state: isUsed ? (held ? 'hit' : 'read') : 'held' });
      }
    cache.need(chosen);
  }
  return moments;
}

/** Share of the experts that some tokens used which slots held. */
export function hitShare(moments: readonly ExpertMoment[]): number {
  const uses = moments.filter(({ state }) => state !== 'held');
  return uses.filter(({ state }) => state === 'hit').length / uses.length;
}
