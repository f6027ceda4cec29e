import type { Automaton, State } from './automaton.ts';
import { MOST_DIGITS } from './json-rules.ts';

/** Bounds of a number. */
export interface NumberBounds {
  /** −∞: none. */
  readonly least: number;
  /** ∞: none. */
  readonly most: number;
  /** Whether the bounds themselves are left out. */
  readonly exceptLeast: boolean;
  readonly exceptMost: boolean;
}

/** Most decimals of a number within bounds. */
export const MOST_DECIMALS = 6;

/** Largest number of which others are multiples, in units of its last decimal. */
export const MOST_STEP = 1000;
/** Steps of work to find the least and largest numbers of each sign. */
const BOUND_STEPS = 256;
/** Parts of 1 that doubles hold exactly, so that dividing by them leaves no rest. */
const PARTS = 8;

/** Whether multiples of a number can be told by their digits, and by dividing their doubles. */
export function isHeldStep(step: number): boolean {
  return Number.isInteger(step * PARTS) && step * 10 ** decimalsOf(step) <= MOST_STEP;
}

/** Decimals of a number that is a multiple of 1 / PARTS. */
function decimalsOf(step: number): number {
  return [0, 1, 2].find((decimals) => Number.isInteger(step * 10 ** decimals)) ?? 3;
}

export interface NumberDigits {
  /** 0: integers. */
  readonly decimals: number;
  /** Number that values must be multiples of (isHeldStep); `undefined`: none. */
  readonly step: number | undefined;
}

/**
 * Numbers within bounds, with up to MOST_DIGITS digits before the point and at most `decimals` after it; `undefined` if
 * there are none. A number is within bounds if its double is.
 */
export function numbersWithin(
  automaton: Automaton,
  bounds: NumberBounds,
  digits: NumberDigits,
  then: State,
): State | undefined {
  const { least, most, exceptLeast, exceptMost } = bounds;
  const { step } = digits;
  automaton.spend(BOUND_STEPS);
  const decimals = step === undefined ? digits.decimals : Math.min(digits.decimals, decimalsOf(step));
  const positive = naturals(
    automaton,
    { decimals, step, least, most, isBelow: below(least, exceptLeast), isWithin: upTo(most, exceptMost) },
    then,
  );
  // Without −0, which equals 0.
  const negative = naturals(
    automaton,
    {
      ...{ decimals, step, least: -most, most: -least },
      isBelow: below(Math.max(-most, 0), exceptMost || most >= 0),
      isWithin: upTo(-least, exceptLeast),
    },
    then,
  );
  const all = [...positive, ...negative.map((one) => automaton.bytes('-', one))];
  return all.length === 0 ? undefined : automaton.either(all);
}

type Test = (value: number) => boolean;

function below(least: number, isExcluded: boolean): Test {
  return (value) => value < least || (isExcluded && value === least);
}

function upTo(most: number, isExcluded: boolean): Test {
  return (value) => value < most || (!isExcluded && value === most);
}

interface Naturals extends NumberDigits, Pick<NumberBounds, 'least' | 'most'> {
  /** Whether a number is too small; it holds for all that are smaller. */
  readonly isBelow: Test;
  /** Whether a number is not too large. */
  readonly isWithin: Test;
}

/** Numbers from 0 on: those of each length before the point. */
function naturals(
  automaton: Automaton,
  { decimals, step, least, most, isBelow, isWithin }: Naturals,
  then: State,
): State[] {
  /** Numbers are counted in units of their last decimal. */
  const unit = 10n ** BigInt(decimals);
  const numberOf = (count: bigint): number => Number(`${count}e-${decimals}`);
  const end = 10n ** BigInt(MOST_DIGITS) * unit;
  const countOf = (value: number): bigint =>
    BigInt(Math.round(Math.min(Math.max(value, 0) * Number(unit), Number(end))));
  const low = firstCount(end, (count) => !isBelow(numberOf(count)), countOf(least));
  const high = firstCount(end, (count) => !isWithin(numberOf(count)), countOf(most)) - 1n;
  // A multiple of a part of 1 that is whole is one of a whole number.
  const divisor = step === undefined ? 1 : wholeStep(step * 10 ** decimals);
  const found: State[] = [];
  for (let digits = 1; digits <= MOST_DIGITS; digits++) {
    const smallest = digits === 1 ? 0n : 10n ** BigInt(digits - 1) * unit;
    const largest = 10n ** BigInt(digits) * unit - 1n;
    const [from, to] = [low > smallest ? low : smallest, high < largest ? high : largest];
    const written = (count: bigint): string => String(count).padStart(digits + decimals, '0');
    const first = ((from + BigInt(divisor) - 1n) / BigInt(divisor)) * BigInt(divisor);
    if (first > to) continue;
    found.push(between(automaton, { low: written(from), high: written(to), digits, divisor }, then));
  }
  return found;
}

/** The least whole number of which all whole multiples of a number are multiples. */
function wholeStep(step: number): number {
  return Number.isInteger(step) ? step : wholeStep(2 * step);
}

/**
 * The first of 0 to `end` for which a test holds, which it then does for all that follow; `end` if it never does.
 * @param near a count that is expected to be close to it
 */
function firstCount(end: bigint, holds: (count: bigint) => boolean, near: bigint): bigint {
  if (holds(0n)) return 0n;
  if (!holds(end - 1n)) return end;
  let [low, high] = [0n, end];
  for (const count of [near - 2n, near + 2n]) {
    if (count < low || count >= high) continue;
    if (holds(count)) high = count;
    else low = count + 1n;
  }
  while (low < high) {
    const middle = (low + high) / 2n;
    if (holds(middle)) high = middle;
    else low = middle + 1n;
  }
  return low;
}

interface Between {
  /** Digits of the least and the largest number, of equal length: those before the point, then all decimals. */
  readonly low: string;
  readonly high: string;
  /** Digits before the point. */
  readonly digits: number;
  /** Divisor of the numbers, in units of their last decimal. */
  readonly divisor: number;
}

/** Numbers of a range. Decimals may end early: those left out are zeros. */
function between(automaton: Automaton, { low, high, digits, divisor }: Between, then: State): State {
  const known = new Map<number, State | undefined>();
  const { length } = low;
  /** By place: what a rest counts there, if zeros follow. */
  const weights = Array.from({ length: length + 1 }, (_, place) =>
    Number(10n ** BigInt(length - place) % BigInt(divisor)),
  );
  /**
   * After this many digits, which are those of `low`, of `high`, or between both, and leave a rest when divided;
   * `undefined` where no multiple follows.
   */
  const after = (place: number, isLow: boolean, isHigh: boolean, rest: number): State | undefined => {
    const key = 4 * (place * divisor + rest) + 2 * Number(isLow) + Number(isHigh);
    if (!known.has(key)) known.set(key, made(place, isLow, isHigh, rest));
    return known.get(key);
  };
  const made = (place: number, isLow: boolean, isHigh: boolean, rest: number): State | undefined => {
    automaton.spend(1);
    const isMultiple = (rest * (weights[place] as number)) % divisor === 0;
    const mayEnd = place >= digits && isMultiple && (!isLow || /^0*$/.test(low.slice(place)));
    const next = place < length ? digit(place, isLow, isHigh, rest) : undefined;
    const ways = [...(mayEnd ? [then] : []), ...(next === undefined ? [] : [next])];
    return ways.length === 0 ? undefined : automaton.either(ways);
  };
  const digit = (place: number, isLow: boolean, isHigh: boolean, rest: number): State | undefined => {
    const first = isLow ? low.charCodeAt(place) : ZERO;
    const last = isHigh ? high.charCodeAt(place) : NINE;
    const ways: [number, number, State][] = [];
    for (let byte = first; byte <= last; byte++) {
      const left = (10 * rest + byte - ZERO) % divisor;
      const to = after(place + 1, isLow && byte === first, isHigh && byte === last, left);
      const before = ways.at(-1);
      if (to === undefined) continue;
      if (before?.[2] === to && before[1] === byte - 1) before[1] = byte;
      else ways.push([byte, byte, to]);
    }
    if (ways.length === 0) return undefined;
    const state = automaton.byte(ways);
    return place === digits ? automaton.bytes('.', state) : state;
  };
  return after(0, true, true, 0) as State;
}

const [ZERO, NINE] = [0x30, 0x39];
