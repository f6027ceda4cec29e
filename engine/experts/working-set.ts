import { expertsOf, type Routing, usesOf } from './routing.ts';

/** The working set of Denning (1968): how many different experts of a layer successive tokens use, in the mean. */
export interface WorkingSet {
  /** T of the longest window, which stands for all longer ones. */
  readonly longest: number;
  /** D: different experts in T tokens, 0 up to `longest`. It rises with T. */
  readonly different: (tokens: number) => number;
}

/** A working set whose windows are computed when they are asked for, each once. */
function workingSet(longest: number, compute: (tokens: number) => number): WorkingSet {
  const known = new Float64Array(longest + 1).fill(Number.NaN);
  known[0] = 0;
  return {
    longest,
    different(tokens) {
      if (Number.isNaN(known[tokens])) known[tokens] = compute(tokens);
      return known[tokens] as number;
    },
  };
}

/** The working set of each layer, as a routing has it, for windows of up to `longest` tokens. */
export function measuredWorkingSets(routing: Routing, longest: number): WorkingSet[] {
  const { tokens, layers, experts } = routing;
  return Array.from({ length: layers }, (_, layer) => {
    // An expert is missing in the windows that lie in a gap between two uses: g − T + 1 of them in a gap of g tokens.
    const gaps = new Float64Array(tokens + 1);
    const last = new Int32Array(experts).fill(-1);
    const gap = (length: number): void => {
      gaps[length] = (gaps[length] as number) + 1;
    };
    for (let token = 0; token < tokens; token++)
      for (const expert of expertsOf(routing, token, layer)) {
        gap(token - (last[expert] as number) - 1);
        last[expert] = token;
      }
    for (const token of last) gap(tokens - token - 1);
    return workingSet(Math.min(longest, tokens), (window) => {
      let missing = 0;
      for (let length = window; length <= tokens; length++) missing += (gaps[length] as number) * (length - window + 1);
      return experts - missing / (tokens - window + 1);
    });
  });
}

/**
 * How experts come again (facts of recorded routings: three numbers and the popularity of each layer's experts describe
 * the hits of a cache within a few per cent). Each of a token's experts is one of the token before with probability
 * `previous`; one of the last `window` tokens, the nearer the likelier as 1/age, with probability `recent`; and
 * otherwise drawn by popularity.
 */
export interface Recurrence {
  readonly previous: number;
  readonly recent: number;
  readonly window: number;
}

/** The probability that a use is copied by the token this many tokens later, from 1 on. */
function copiedAfter({ previous, recent, window }: Recurrence): number[] {
  const ages = Array.from({ length: window }, (_, index) => 1 / (index + 1));
  const sum = ages.reduce((total, share) => total + share, 0);
  return ages.map((share, index) => (recent * share) / sum + (index === 0 ? previous : 0));
}

/** Probabilities and parts of an expert that count as none. */
const NEGLIGIBLE = 1e-6;

/**
 * The working set that follows from popularity and recurrence, in closed form. Uses that are drawn by popularity come
 * independently, and each begins a series of copies, which is a branching process: V(s), the probability that a series
 * has no use in the tokens s … s + T − 1 after its first, is a product over its possible copies,
 *
 *     V(s) = ∏ₐ (1 − cₐ (1 − V(s − a))),   V = 0 for copies inside the window, 1 for those behind it,
 *
 * with cₐ the probability of a copy after a tokens. An expert that is drawn with probability f for a token isn't used in
 * T tokens with probability (1 − f)ᵀ ∏ₛ (1 − f (1 − V(s))).
 *
 * @param share r: probability that a token uses each expert, [experts]; their sum is k
 */
export function expectedWorkingSet(share: ArrayLike<number>, recurrence: Recurrence, longest: number): WorkingSet {
  const copied = copiedAfter(recurrence);
  const alone = reachesOf(copied, 1);
  const drawn = Array.from(share, (used) => drawnShare(used, alone));
  return workingSet(longest, (tokens) => {
    const reaches = reachesOf(copied, tokens);
    return drawn.reduce((different, probability) => different + 1 - unusedShare(probability, tokens, reaches), 0);
  });
}

/** The probability that an expert isn't used in this many tokens. @param drawn f: that it is drawn for a token */
function unusedShare(drawn: number, tokens: number, reaches: readonly number[]): number {
  let unused = (1 - drawn) ** tokens;
  for (const reach of reaches) unused *= 1 - drawn * reach;
  return unused;
}

/** f of an expert that a token uses with probability `used`, by bisection. */
function drawnShare(used: number, reaches: readonly number[]): number {
  let [low, high] = [0, used];
  for (let step = 0; step < 40; step++) {
    const middle = (low + high) / 2;
    if (1 - unusedShare(middle, 1, reaches) < used) low = middle;
    else high = middle;
  }
  return high;
}

/** 1 − V(s) for s = 1, 2, …, as far as it counts. */
function reachesOf(copied: readonly number[], tokens: number): number[] {
  const reaches: number[] = [];
  for (let start = 1; ; start++) {
    let misses = 1;
    for (const [index, probability] of copied.entries()) {
      const age = index + 1;
      if (age >= start + tokens) break;
      misses *= 1 - probability * (age >= start ? 1 : (reaches[start - age - 1] as number));
    }
    if (1 - misses < NEGLIGIBLE) return reaches;
    reaches.push(1 - misses);
  }
}

/**
 * The probability that a token uses each expert of each layer: [layers][experts]. Experts that a short text doesn't use
 * aren't unused: all of them together get the share of uses whose expert was met once (Good 1953), in equal parts.
 */
export function sharesOf(routing: Routing): Float64Array[] {
  return usesOf(routing).map((uses) => {
    const [unseen, once] = [0, 1].map((times) => uses.filter((count) => count === times).length) as [number, number];
    const left = unseen === 0 ? 0 : once / (routing.tokens * routing.used);
    return Float64Array.from(uses, (count) =>
      count === 0 ? (left * routing.used) / unseen : ((1 - left) * count) / routing.tokens,
    );
  });
}

/**
 * The hit rate of a cache that evicts what was used least recently, by the working set theorem (Denning and Schwartz
 * 1972): a cache of D(T) experts holds those of the last T tokens, so that D(T + 1) − D(T) of a token's are missing.
 * Holds for a cache that isn't empty at first, and whose victims are none of the running token's.
 *
 * @param slots experts that the cache holds
 * @returns share of a token's experts; 0 for fewer slots than a token uses
 */
export function leastRecentHitRate({ longest, different }: WorkingSet, slots: number): number {
  const used = different(1);
  if (slots < used - NEGLIGIBLE) return 0;
  const last = longest - 1;
  const missing = (tokens: number): number => Math.max(0, different(tokens + 1) - different(tokens));
  const tokens = lastWithin(different, last, slots);
  if (slots >= different(longest)) return 1 - missing(last) / used;
  const [low, high] = [different(tokens), different(tokens + 1)];
  const between = high > low ? (slots - low) / (high - low) : 0;
  return 1 - ((1 - between) * missing(tokens) + between * missing(Math.min(last, tokens + 1))) / used;
}

/** The longest window from 1 up to `last` whose experts are no more than there are slots. */
function lastWithin(different: WorkingSet['different'], last: number, slots: number): number {
  let [low, high] = [1, Math.max(1, last)];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (different(middle) <= slots) low = middle;
    else high = middle - 1;
  }
  return low;
}

/**
 * The same for one cache that holds experts of all layers. The working set of many layers hardly varies, so that what
 * comes again after more tokens than the cache lasts for is missing always: the rate rises in steps.
 * @param slots experts that the cache holds
 */
export function pooledHitRate(sets: readonly WorkingSet[], slots: number): number {
  const longest = Math.min(...sets.map((set) => set.longest));
  const all = (tokens: number): number => sets.reduce((sum, { different }) => sum + different(tokens), 0);
  const used = all(1);
  if (slots < used - NEGLIGIBLE) return 0;
  const tokens = lastWithin(all, longest - 1, slots);
  return 1 - (all(tokens + 1) - all(tokens)) / used;
}

/**
 * The hit rate of a cache that holds what is used most often, and nothing else.
 * @param share probability that a token uses each expert
 */
export function mostUsedHitRate(share: ArrayLike<number>, slots: number): number {
  const falling = Array.from(share).sort((a, b) => b - a);
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  return sum(falling.slice(0, slots)) / sum(falling);
}
