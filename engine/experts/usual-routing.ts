import { zipfPopularity } from './draw-routing.ts';
import type { KnownRouting } from './hit-rates.ts';

/**
 * Assumed where no routing is known: popularity as rank^−0.8, and the recurrence that was fitted to a trace of
 * Qwen3-30B-A3B (facts of recorded routings: slopes are 0.4 to 1.7, and a fifth of a token's experts is copied from the
 * token before).
 */
const USUAL = { slope: 0.8, recurrence: { previous: 0.2, recent: 0.15, window: 16 }, seed: 1 } as const;

export type RoutingStatistics = KnownRouting & { readonly kind: 'statistics' };

interface RoutingShape {
  readonly layers: number;
  readonly experts: number;
  readonly used: number;
}

const known = new Map<string, RoutingStatistics>();
const knownShares = new Map<string, Float64Array>();

/** Statistics of a routing of which nothing is known but its shape, all layers alike. The same object for the same shape. */
export function usualRouting({ layers, experts, used }: RoutingShape): RoutingStatistics {
  const key = `${layers}/${experts}/${used}`;
  const found = known.get(key);
  if (found !== undefined) return found;
  const share = usualShares(experts, used);
  const usual: RoutingStatistics = {
    ...{ kind: 'statistics', shares: new Array<Float64Array>(layers).fill(share), recurrence: USUAL.recurrence },
  };
  known.set(key, usual);
  return usual;
}

/** The shares of a layer: the same object for the same experts. */
function usualShares(experts: number, used: number): Float64Array {
  const key = `${experts}/${used}`;
  const [popularity] = knownShares.has(key)
    ? []
    : zipfPopularity({ layers: 1, experts, seed: USUAL.seed }, USUAL.slope);
  const shares = knownShares.get(key) ?? sharesOfDraws(popularity as Float64Array, used);
  knownShares.set(key, shares);
  return shares;
}

/** How likely each expert is among `used` different ones: their popularity, scaled to the sum k, none above 1. */
function sharesOfDraws(popularity: Float64Array, used: number): Float64Array {
  const total = popularity.reduce((sum, one) => sum + one, 0);
  let factor = 1;
  const shares = (): Float64Array => popularity.map((one) => 1 - (1 - one / total) ** factor);
  const sum = (): number => shares().reduce((all, one) => all + one, 0);
  let [low, high] = [0, 1];
  for (factor = high; sum() < used * (1 - TOLERANCE) && high < MOST_DRAWS; factor = high) high *= 2;
  for (let step = 0; step < STEPS; step++) {
    factor = (low + high) / 2;
    if (sum() < used) low = factor;
    else high = factor;
  }
  return shares();
}

const TOLERANCE = 1e-9;
const MOST_DRAWS = 2 ** 30;
const STEPS = 60;
