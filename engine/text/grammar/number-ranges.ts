import type { Automaton, State } from './automaton.ts';
import { type JsonRules, MOST_DIGITS } from './json-rules.ts';

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

const LARGEST = 10 ** MOST_DIGITS - 1;

/** Decimals of a number within bounds, whose last is not 0, and the integers below which it has some. */
const DECIMALS = 6;
const LARGEST_WITH_DECIMALS = 10 ** 9;

/** Integers within bounds; `undefined` if there are none of MOST_DIGITS digits. */
export function integersWithin(
  automaton: Automaton,
  rules: JsonRules,
  bounds: NumberBounds,
  then: State,
): State | undefined {
  const least = bounds.exceptLeast ? Math.floor(bounds.least) + 1 : Math.ceil(bounds.least);
  const most = bounds.exceptMost ? Math.ceil(bounds.most) - 1 : Math.floor(bounds.most);
  const whole = (from: number, to: number): State[] => natural({ automaton, rules, next: then }, from, to);
  return eitherOf(automaton, [
    ...whole(Math.max(0, least), Math.min(most, LARGEST)),
    ...whole(Math.max(1, -most), Math.min(-least, LARGEST)).map((one) => automaton.bytes('-', one)),
  ]);
}

/**
 * Integers within bounds, and numbers with up to DECIMALS decimals that are strictly between two such integers;
 * `undefined` if there are none.
 */
export function numbersWithin(
  automaton: Automaton,
  rules: JsonRules,
  bounds: NumberBounds,
  then: State,
): State | undefined {
  const { byte, bytes } = automaton;
  const decimals = bytes('.', rules.digits({ least: 0, most: DECIMALS - 1 }, byte([[0x31, 0x39, then]])));
  const whole = (from: number, to: number): State[] => natural({ automaton, rules, next: decimals }, from, to);
  const { least, most } = bounds;
  const integers = integersWithin(automaton, rules, bounds, then);
  return eitherOf(automaton, [
    ...(integers === undefined ? [] : [integers]),
    ...whole(Math.max(0, Math.ceil(least)), Math.min(Math.floor(most) - 1, LARGEST_WITH_DECIMALS)),
    ...whole(Math.max(0, Math.ceil(-most)), Math.min(Math.floor(-least) - 1, LARGEST_WITH_DECIMALS)).map((one) =>
      bytes('-', one),
    ),
  ]);
}

function eitherOf({ either }: Automaton, states: readonly State[]): State | undefined {
  return states.length === 0 ? undefined : either(states);
}

interface Parts {
  readonly automaton: Automaton;
  readonly rules: JsonRules;
  readonly next: State;
}

/** Natural numbers from one to another: those of each length. */
function natural(parts: Parts, from: number, to: number): State[] {
  const found: State[] = [];
  for (let digits = 1; digits <= MOST_DIGITS; digits++) {
    const [low, high] = [Math.max(from, digits === 1 ? 0 : 10 ** (digits - 1)), Math.min(to, 10 ** digits - 1)];
    if (low <= high) found.push(between(parts, String(low), String(high)));
  }
  return found;
}

/** Numbers of as many digits as both bounds have. */
function between(parts: Parts, low: string, high: string): State {
  const { automaton, rules, next } = parts;
  const { length } = low;
  if (length === 0) return next;
  if (/^0*$/.test(low) && /^9*$/.test(high)) return rules.digits({ least: length, most: length }, next);
  const [first, last] = [low.charCodeAt(0), high.charCodeAt(0)];
  const [restOfLow, restOfHigh] = [low.slice(1), high.slice(1)];
  if (first === last) return automaton.byte([[first, first, between(parts, restOfLow, restOfHigh)]]);
  const rest = length - 1;
  return automaton.byte([
    [first, first, between(parts, restOfLow, '9'.repeat(rest))],
    ...(first + 1 < last ? [[first + 1, last - 1, rules.digits({ least: rest, most: rest }, next)] as const] : []),
    [last, last, between(parts, '0'.repeat(rest), restOfHigh)],
  ]);
}
