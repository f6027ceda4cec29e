/** A device that can hold experts. */
export interface ExpertPlace {
  /** Seconds of one expert for one token. */
  readonly seconds: number;
  /** Seconds of the messages to it and back; 0 on the head. */
  readonly messageSeconds: number;
}

export interface PlacementCase {
  /** Probability that a token uses each expert of a layer. */
  readonly shares: ArrayLike<number>;
  readonly places: readonly ExpertPlace[];
  /** Experts that each place has room for, in this layer. */
  readonly most: readonly number[];
}

/** The work of a place for a token in the mean: Σ f, and Σ ln(1 − f). */
interface PlaceLoad {
  readonly used: number;
  readonly unused: number;
}

/**
 * Mean seconds that a token spends at a place of which it uses experts with the probabilities f: (1 − Π(1 − f))·messages +
 * Σf·seconds.
 */
function meanSeconds({ used, unused }: PlaceLoad, { seconds, messageSeconds }: ExpertPlace): number {
  return (1 - Math.exp(unused)) * messageSeconds + used * seconds;
}

/** Steps after which a search ends, however much it could still improve. */
const MOST_STEPS = 200;

/** Differences below this are rounding. */
const ROUNDING = 1e-9;

/**
 * Divides a layer's experts among places so that the largest of their mean seconds is small: first each expert, from the most
 * popular on, goes where it makes least (Graham's rule, at most 4/3 of the least possible maximum for equal machines); then
 * experts of the slowest place move to others, or change places with others', while that makes it faster.
 * @returns by expert the index of its place; `undefined` if there is no room for all
 */
export function placeExperts({ shares, places, most }: PlacementCase): number[] | undefined {
  const count = shares.length;
  if (most.reduce((sum, one) => sum + one, 0) < count) return undefined;
  const loads = Array.from(shares, (used): PlaceLoad => ({ used, unused: Math.log1p(-Math.min(used, 1 - ROUNDING)) }));
  const loadOf = (expert: number): PlaceLoad => loads[expert] as PlaceLoad;
  const held = places.map((): number[] => []);
  const sums = places.map((): PlaceLoad => ({ used: 0, unused: 0 }));
  const secondsWith = (place: number, given?: number, taken?: number): number => {
    let load = sums[place] as PlaceLoad;
    if (given !== undefined) load = plus(load, loadOf(given), 1);
    if (taken !== undefined) load = plus(load, loadOf(taken), -1);
    return meanSeconds(load, places[place] as ExpertPlace);
  };
  const move = (expert: number, from: number | undefined, to: number): void => {
    if (from !== undefined) {
      held[from]?.splice(held[from]?.indexOf(expert) ?? 0, 1);
      sums[from] = plus(sums[from] as PlaceLoad, loadOf(expert), -1);
    }
    held[to]?.push(expert);
    sums[to] = plus(sums[to] as PlaceLoad, loadOf(expert), 1);
  };
  const hasRoom = (place: number): boolean => (held[place] as number[]).length < (most[place] as number);

  const popular = Array.from({ length: count }, (_, expert) => expert).sort(
    (a, b) => loadOf(b).used - loadOf(a).used || a - b,
  );
  for (const expert of popular) {
    const open = [...places.keys()].filter(hasRoom);
    const best = open.reduce((one, other) => (secondsWith(other, expert) < secondsWith(one, expert) ? other : one));
    move(expert, undefined, best);
  }
  for (let step = 0; step < MOST_STEPS; step++) {
    const seconds = places.map((_, place) => secondsWith(place));
    const slowest = seconds.indexOf(Math.max(...seconds));
    let best: { readonly seconds: number; readonly place: number; given: number; taken?: number } | undefined;
    for (const [place, others] of held.entries()) {
      if (place === slowest) continue;
      const candidates = hasRoom(place) ? [undefined, ...others] : others;
      for (const given of held[slowest] as number[])
        for (const taken of candidates) {
          const larger = Math.max(secondsWith(slowest, taken, given), secondsWith(place, given, taken));
          if (larger < (best?.seconds ?? (seconds[slowest] as number) * (1 - ROUNDING)))
            best = { seconds: larger, place, given, ...(taken !== undefined && { taken }) };
        }
    }
    if (best === undefined) break;
    move(best.given, slowest, best.place);
    if (best.taken !== undefined) move(best.taken, best.place, slowest);
  }
  const placeOf = new Array<number>(count).fill(0);
  for (const [place, own] of held.entries()) for (const expert of own) placeOf[expert] = place;
  return placeOf;
}

function plus(a: PlaceLoad, b: PlaceLoad, sign: 1 | -1): PlaceLoad {
  return { used: a.used + sign * b.used, unused: a.unused + sign * b.unused };
}
