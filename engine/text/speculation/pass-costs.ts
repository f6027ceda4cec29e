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

/** Passes of two tokens that an assumed cost weighs. */
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
  const recent = new Map<number, number[]>();
  /** b, until a pass is added: passes come more often than it is asked for. */
  let slope: number | undefined;
  const medianOf = (tokens: number): number => median(recent.get(tokens) ?? []);
  const fit = (): number => {
    const first = medianOf(1);
    let [products, squares] = [ASSUMED_WEIGHT * assumed(first), ASSUMED_WEIGHT];
    for (const tokens of recent.keys()) {
      products += (tokens - 1) * (medianOf(tokens) - first);
      squares += (tokens - 1) ** 2;
    }
    return Math.max(0, products / squares);
  };
  return {
    add(tokens, seconds) {
      const times = recent.get(tokens) ?? [];
      if (times.length === 0) recent.set(tokens, times);
      times.push(seconds);
      if (times.length > RECENT) times.shift();
      slope = undefined;
    },
    get isKnown() {
      return recent.has(1);
    },
    seconds(tokens) {
      if (tokens === 1 || (recent.get(tokens)?.length ?? 0) >= ENOUGH) return medianOf(tokens);
      slope ??= fit();
      return medianOf(1) + (tokens - 1) * slope;
    },
  };
}

/** NaN of none. */
function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[(sorted.length - 1) >> 1] ?? Number.NaN;
}
