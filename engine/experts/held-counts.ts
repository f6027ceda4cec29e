/** Most rounds of fitting the odds of a layer, which few experts with shares near 1 come near to; usual layers need about 5. */
const ROUNDS = 500;
/** Errors of frequencies at which the fit ends. */
const FITTED = 1e-9;
/** Frequencies are kept this far from 0 and 1, which have no odds. */
const EDGE = 1e-9;

/**
 * Probabilities q of independent draws of a layer's experts with which, given that just `used` are drawn, expert e is among
 * them with the probability that its share says: the distribution of largest entropy with these shares (Chen, Dempster and
 * Liu 1994, whose odds are found by iteration).
 * @param shares probability that a token uses each expert; their sum is `used`, to which they are scaled
 */
export function independentDraws(shares: ArrayLike<number>, used: number): Float64Array {
  const sum = Array.from(shares).reduce((all, one) => all + one, 0);
  const wanted = Float64Array.from(shares, (share) => Math.min(1 - EDGE, Math.max(EDGE, (share * used) / sum)));
  if (used >= shares.length) return wanted.fill(1 - EDGE);
  let draws = wanted;
  for (let round = 0; round < ROUNDS; round++) {
    const found = inclusions(draws, used);
    if (found.every((own, expert) => Math.abs(own - (wanted[expert] as number)) < FITTED)) break;
    draws = draws.map((draw, expert) => {
      const [share, own] = [wanted[expert] as number, Math.min(1 - EDGE, Math.max(EDGE, found[expert] as number))];
      const odds = ((draw / (1 - draw)) * (share * (1 - own))) / (own * (1 - share));
      return Math.min(1 - EDGE, Math.max(EDGE, odds / (1 + odds)));
    });
  }
  return draws;
}

/** The probability of each expert to be drawn, given that just `used` are. */
function inclusions(draws: Float64Array, used: number): Float64Array {
  const count = draws.length;
  /** Number of drawn experts from the e-th on. */
  const after: Float64Array[] = [];
  after[count] = Float64Array.of(1);
  for (let expert = count - 1; expert >= 0; expert--)
    after[expert] = withDraw(after[expert + 1] as Float64Array, draws[expert] as number, used);
  let before: Float64Array = Float64Array.of(1);
  const all = (after[0] as Float64Array)[used] as number;
  return draws.map((draw, expert) => {
    const others = coefficient(before, after[expert + 1] as Float64Array, used - 1);
    before = withDraw(before, draw, used);
    return (draw * others) / all;
  });
}

/** The distribution of a count to which one draw is added; counts above `most` are left out. */
function withDraw(counts: Float64Array, draw: number, most: number): Float64Array {
  const sums = new Float64Array(Math.min(most + 1, counts.length + 1));
  for (const [count, probability] of counts.entries()) {
    if (count < sums.length) sums[count] = (sums[count] as number) + probability * (1 - draw);
    if (count + 1 < sums.length) sums[count + 1] = (sums[count + 1] as number) + probability * draw;
  }
  return sums;
}

/** The coefficient of a product of two polynomials. */
function coefficient(a: Float64Array, b: Float64Array, power: number): number {
  let sum = 0;
  for (let own = Math.max(0, power - b.length + 1); own < a.length && own <= power; own++)
    sum += (a[own] as number) * (b[power - own] as number);
  return sum;
}

/** How likely 0, 1, … of some independent draws succeed. @param most counts above are left out */
export function drawnCounts(draws: Iterable<number>, most: number): Float64Array {
  let counts: Float64Array = Float64Array.of(1);
  for (const draw of draws) counts = withDraw(counts, draw, most);
  return counts;
}

export interface SlowestCase {
  /** By device: how likely it has 0, 1, … experts to multiply, independently of others. */
  readonly counts: readonly Float64Array[];
  /** Experts that all devices have together; `undefined`: any number. */
  readonly total: number | undefined;
  /** Seconds of a device with this many. */
  readonly secondsOf: (device: number, count: number) => number;
}

/** How likely a device is the slowest, with this many experts. */
export interface SlowestDevice {
  readonly device: number;
  readonly count: number;
  readonly probability: number;
}

/**
 * The devices that may be the slowest, each with its number of experts and the probability of that: E(max) is the sum of
 * probability × seconds. Of devices that take equally long the first counts. The probability that device d is the slowest
 * with n experts is that of n experts there, and of counts on all other devices that take no longer: the coefficient of
 * z^(total − n) in the product of the others' distributions.
 */
export function slowestDevices({ counts, total, secondsOf }: SlowestCase): SlowestDevice[] {
  const degree = total ?? counts.reduce((sum, own) => sum + own.length - 1, 0);
  const product = (factors: readonly Float64Array[]): Float64Array =>
    factors.reduce((all, own) => {
      const both = new Float64Array(Math.min(degree + 1, all.length + own.length - 1));
      for (let power = 0; power < both.length; power++) both[power] = coefficient(all, own, power);
      return both;
    }, Float64Array.of(1));
  const ofTotal = (all: Float64Array, power: number): number => {
    if (total === undefined) return all.reduce((sum, one) => sum + one, 0);
    return all[power] ?? 0;
  };
  const everything = ofTotal(product(counts), degree);
  return counts.flatMap((own, device) =>
    [...own.keys()].flatMap((count) => {
      const seconds = secondsOf(device, count);
      const others = counts.flatMap((one, other) => {
        if (other === device) return [];
        const isLess = (seconds_: number): boolean => (other < device ? seconds_ < seconds : seconds_ <= seconds);
        return [one.map((probability, many) => (isLess(secondsOf(other, many)) ? probability : 0))];
      });
      const probability = ((own[count] as number) * ofTotal(product(others), degree - count)) / everything;
      return probability > 0 ? [{ device, count, probability }] : [];
    }),
  );
}
