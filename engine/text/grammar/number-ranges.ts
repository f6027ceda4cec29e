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

/**
 * Numbers within bounds, with up to MOST_DIGITS digits before the point and at most `decimals` after it; `undefined` if
 * there are none. A number is within bounds if its double is.
 * @param decimals 0: integers
 */
export function numbersWithin(
  automaton: Automaton,
  bounds: NumberBounds,
  decimals: number,
  then: State,
): State | undefined {
  const { least, most, exceptLeast, exceptMost } = bounds;
  const positive = naturals(
    automaton,
    { decimals, isBelow: below(least, exceptLeast), isWithin: upTo(most, exceptMost) },
    then,
  );
  // Without −0, which equals 0.
  const negative = naturals(
    automaton,
    { decimals, isBelow: below(Math.max(-most, 0), exceptMost || most >= 0), isWithin: upTo(-least, exceptLeast) },
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

interface Naturals {
  readonly decimals: number;
  /** Whether a number is too small; it holds for all that are smaller. */
  readonly isBelow: Test;
  /** Whether a number is not too large. */
  readonly isWithin: Test;
}

/** Numbers from 0 on: those of each length before the point. */
function naturals(automaton: Automaton, { decimals, isBelow, isWithin }: Naturals, then: State): State[] {
  /** Numbers are counted in units of their last decimal. */
  const unit = 10n ** BigInt(decimals);
  const numberOf = (count: bigint): number => Number(`${count}e-${decimals}`);
  const end = 10n ** BigInt(MOST_DIGITS) * unit;
  const low = firstCount(end, (count) => !isBelow(numberOf(count)));
  const high = firstCount(end, (count) => !isWithin(numberOf(count))) - 1n;
  const found: State[] = [];
  for (let digits = 1; digits <= MOST_DIGITS; digits++) {
    const smallest = digits === 1 ? 0n : 10n ** BigInt(digits - 1) * unit;
    const largest = 10n ** BigInt(digits) * unit - 1n;
    const [from, to] = [low > smallest ? low : smallest, high < largest ? high : largest];
    const written = (count: bigint): string => String(count).padStart(digits + decimals, '0');
    if (from <= to) found.push(between(automaton, { low: written(from), high: written(to), digits }, then));
  }
  return found;
}

/** The first of 0 to `end` for which a test holds, which it then does for all that follow; `end` if it never does. */
function firstCount(end: bigint, holds: (count: bigint) => boolean): bigint {
  let [low, high] = [0n, end];
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
  /** Those before the point. */
  readonly digits: number;
}

/** Numbers of a range. Decimals may end early: those left out are zeros. */
function between(automaton: Automaton, { low, high, digits }: Between, then: State): State {
  const known = new Map<string, State>();
  /** After so many digits, which are those of `low`, of `high`, or between both. */
  const after = (place: number, isLow: boolean, isHigh: boolean): State => {
    const key = `${place} ${isLow} ${isHigh}`;
    const state = known.get(key) ?? made(place, isLow, isHigh);
    known.set(key, state);
    return state;
  };
  const made = (place: number, isLow: boolean, isHigh: boolean): State => {
    const mayEnd = place >= digits && (!isLow || /^0*$/.test(low.slice(place)));
    const ways = [...(mayEnd ? [then] : []), ...(place < low.length ? [digit(place, isLow, isHigh)] : [])];
    return automaton.either(ways);
  };
  const digit = (place: number, isLow: boolean, isHigh: boolean): State => {
    const first = isLow ? low.charCodeAt(place) : ZERO;
    const last = isHigh ? high.charCodeAt(place) : NINE;
    const ways: [number, number, State][] = [];
    for (let byte = first; byte <= last; byte++) {
      const to = after(place + 1, isLow && byte === first, isHigh && byte === last);
      const before = ways.at(-1);
      if (before?.[2] === to) before[1] = byte;
      else ways.push([byte, byte, to]);
    }
    const state = automaton.byte(ways);
    return place === digits ? automaton.bytes('.', state) : state;
  };
  return after(0, true, true);
}

const [ZERO, NINE] = [0x30, 0x39];
