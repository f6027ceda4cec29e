/** Seconds of a model's passes by their number of tokens, learned from those that ran. */
export interface PassCosts {
  /** Adds a measured pass. */
  add(tokens: number, seconds: number): void;
  /** Whether a pass of one token was measured. */
  readonly isKnown: boolean;
  /** Expected seconds of a pass; NaN before a pass of one token was measured. */
  seconds(tokens: number): number;
}

/** Passes of each size that count: enough for a median, few enough to follow a context that grows. */
const RECENT = 9;

/** Passes of one size after which their own median counts, rather than what others let expect. */
const ENOUGH = 3;

/** Passes of two tokens that an assumed cost weighs, until a size was measured. */
const ASSUMED_WEIGHT = 1;

/**
 * Share of a pass that each further token is assumed to cost where nothing is known: seldom less than what it really
 * does (measured: 0.03 to 0.7 of native kernels, 1 of the reference).
 */
export const ASSUMED_SHARE = 0.7;

/**
 * Medians by number of tokens, and a line c(t) = c(1) + (t − 1)·b for sizes that ran seldom. b is fitted to the medians
 * by least squares.
 * @param assumed seconds of each further token, given those of the first, until they are measured
 */
export function createPassCosts(assumed: (first: number) => number = (first) => ASSUMED_SHARE * first): PassCosts {
  const recent = new Map<number, RecentTimes>();
  /** b, until a pass is added: passes come more often than it is asked for. */
  let slope: number | undefined;
  const medianOf = (tokens: number): number => recent.get(tokens)?.median ?? Number.NaN;
  const fit = (): number => {
    const first = medianOf(1);
    const isMeasured = [...recent].some(([tokens, { count }]) => tokens > 1 && count >= ENOUGH);
    let [products, squares] = isMeasured ? [0, 0] : [ASSUMED_WEIGHT * assumed(first), ASSUMED_WEIGHT];
    for (const [tokens, { median }] of recent) {
      products += (tokens - 1) * (median - first);
      squares += (tokens - 1) ** 2;
    }
    return Math.max(0, products / squares);
  };
  return {
    add(tokens, seconds) {
      const times = recent.get(tokens) ?? createRecentTimes();
      if (times.count === 0) recent.set(tokens, times);
      times.add(seconds);
      slope = undefined;
    },
    get isKnown() {
      return recent.has(1);
    },
    seconds(tokens) {
      if (tokens === 1 || (recent.get(tokens)?.count ?? 0) >= ENOUGH) return medianOf(tokens);
      slope ??= fit();
      return medianOf(1) + (tokens - 1) * slope;
    },
  };
}

/** The last RECENT of some times. */
interface RecentTimes {
  readonly count: number;
  /** The lower one of two; NaN of none. */
  readonly median: number;
  add(seconds: number): void;
}

/** They stay sorted: sorting them for every pass would take a noticeable part of a small model's. */
function createRecentTimes(): RecentTimes {
  const byAge: number[] = [];
  const sorted: number[] = [];
  return {
    get count() {
      return byAge.length;
    },
    get median() {
      return sorted[(sorted.length - 1) >> 1] ?? Number.NaN;
    },
    add(seconds) {
      byAge.push(seconds);
      if (byAge.length > RECENT) sorted.splice(sorted.indexOf(byAge.shift() as number), 1);
      let place = sorted.length;
      while (place > 0 && (sorted[place - 1] as number) > seconds) place--;
      sorted.splice(place, 0, seconds);
    },
  };
}
