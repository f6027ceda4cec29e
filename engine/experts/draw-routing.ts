import { randomStream } from '../input/random-stream.ts';
import type { Routing } from './routing.ts';
import type { Recurrence } from './working-set.ts';

export interface DrawnRouting extends Pick<Routing, 'tokens' | 'used'> {
  /** How likely each expert of each layer is drawn, relative to others: [layers][experts]. */
  readonly popularity: readonly ArrayLike<number>[];
  readonly recurrence: Recurrence;
  readonly seed: number;
}

/**
 * Draws a routing: each of a token's experts is copied from a token before, or drawn by popularity among those that it
 * doesn't use yet.
 */
export function drawRouting({ tokens, used, popularity, recurrence, seed }: DrawnRouting): Routing {
  const layers = popularity.length;
  const experts = popularity[0]?.length ?? 0;
  if (experts < used) throw new RangeError(`${used} experts of ${experts} for a token`);
  const random = randomStream(seed, 'routing');
  const drawers = popularity.map((own) => createDrawer(own, random.next));
  const all = new Uint16Array(tokens * layers * used);
  const ages = createDrawer(
    Array.from({ length: recurrence.window }, (_, index) => 1 / (index + 1)),
    random.next,
  );
  const none: readonly number[] = [];
  /** Tokens to go back for a copy; `undefined` for none. */
  const copyAge = (token: number): number | undefined => {
    const at = random.next();
    if (at < recurrence.previous) return 1;
    if (at >= recurrence.previous + recurrence.recent) return undefined;
    let age = 1 + ages(none);
    while (age > token) age = 1 + ages(none);
    return age;
  };
  for (let token = 0; token < tokens; token++)
    for (let layer = 0; layer < layers; layer++) {
      const chosen: number[] = [];
      for (let slot = 0; token > 0 && slot < used; slot++) {
        const age = copyAge(token);
        if (age === undefined) continue;
        const before: number[] = [];
        const first = ((token - age) * layers + layer) * used;
        for (let at = first; at < first + used; at++) {
          const expert = all[at] as number;
          if (!chosen.includes(expert)) before.push(expert);
        }
        if (before.length > 0) chosen.push(random.pick(before));
      }
      const draw = drawers[layer] as (taken: readonly number[]) => number;
      while (chosen.length < used) chosen.push(draw(chosen));
      all.set(chosen, (token * layers + layer) * used);
    }
  return { tokens, layers, experts, used, chosen: all };
}

/** Draws indices with the given weights, none that is taken already. */
function createDrawer(weights: ArrayLike<number>, next: () => number): (taken: readonly number[]) => number {
  const sums: number[] = [];
  let sum = 0;
  for (const weight of Array.from(weights)) {
    sum += weight;
    sums.push(sum);
  }
  /** The first index whose sum exceeds a value. */
  const find = (value: number): number => {
    let [low, high] = [0, sums.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((sums[middle] as number) > value) high = middle;
      else low = middle + 1;
    }
    return low;
  };
  return (taken) => {
    for (let tries = 0; tries < sums.length; tries++) {
      const found = find(next() * sum);
      if (!taken.includes(found)) return found;
    }
    // All others together have next to no weight: the likeliest of them.
    let best = -1;
    for (let index = 0; index < weights.length; index++)
      if (!taken.includes(index) && (best < 0 || (weights[index] as number) > (weights[best] as number))) best = index;
    return best;
  };
}

/**
 * Popularity that falls with the rank as rank^−slope, with the ranks of each layer's experts drawn: Zipf's law.
 * Layers of recorded routings have slopes of 0.4 to 1.7.
 */
export function zipfPopularity(
  { layers, experts, seed }: { readonly layers: number; readonly experts: number; readonly seed: number },
  slope: number,
): Float64Array[] {
  const random = randomStream(seed, 'popularity');
  return Array.from({ length: layers }, () => {
    const ranked = Array.from({ length: experts }, (_, expert) => ({ expert, at: random.next() })).sort(
      (a, b) => a.at - b.at,
    );
    const popularity = new Float64Array(experts);
    for (const [rank, { expert }] of ranked.entries()) popularity[expert] = (rank + 1) ** -slope;
    return popularity;
  });
}
