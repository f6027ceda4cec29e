import type { Automaton, State } from './automaton.ts';

/** Characters from one code point to another, both included. */
export type CharacterRange = readonly [first: number, last: number];

/** Ends of what UTF-8 writes in one to four bytes. */
const LAST_OF_LENGTH = [0x7f, 0x7ff, 0xffff, 0x10ffff];

const MOST_USUAL = 64;

const SURROGATES: CharacterRange = [0xd800, 0xdfff];

/**
 * The next character, in UTF-8, is in one of the ranges. Surrogates, which UTF-8 can't write, are left out.
 * @param tails what follows the first byte, which sequences share, and calls with the same `then` as well
 */
export function characters(
  automaton: Automaton,
  ranges: readonly CharacterRange[],
  then: State,
  tails = new Map<string, State>(),
): State {
  const sequences = without(ranges, [SURROGATES]).flatMap(rangesOf);
  automaton.countWork(sequences.length);
  const stateOf = (sequence: readonly CharacterRange[]): State => {
    if (sequence.length === 0) return then;
    const key = sequence.join(';');
    const [first, ...rest] = sequence as [CharacterRange, ...CharacterRange[]];
    const state = tails.get(key) ?? automaton.byte([[...first, stateOf(rest)]]);
    tails.set(key, state);
    return state;
  };
  return automaton.byte(sequences.map(([first, ...rest]) => [...(first as CharacterRange), stateOf(rest)] as const));
}

/** Ranges without the characters of others. */
export function without(ranges: readonly CharacterRange[], others: readonly CharacterRange[]): CharacterRange[] {
  const gaps = others.toSorted(([a], [b]) => a - b);
  return ranges.flatMap(([first, last]): CharacterRange[] => {
    const left: CharacterRange[] = [];
    let from = first;
    for (const [begin, end] of gaps) {
      if (begin > last) break;
      if (begin > from) left.push([from, begin - 1]);
      from = Math.max(from, end + 1);
    }
    if (from <= last) left.push([from, last]);
    return left;
  });
}

/** Sequences of ranges that occur again and again. */
const USUAL = new Map<string, readonly CharacterRange[][]>();

function rangesOf(range: CharacterRange): readonly CharacterRange[][] {
  const [first, last] = range;
  if (last <= 0x7f) return [[range]];
  if (last - first < 0x1000) return utf8Ranges(range);
  const key = range.join();
  const found = USUAL.get(key) ?? utf8Ranges(range);
  if (USUAL.size < MOST_USUAL) USUAL.set(key, found);
  return found;
}

/** A range of characters as sequences of byte ranges (the construction of Thompson's and of RE2's compilers). */
function utf8Ranges([first, last]: CharacterRange): CharacterRange[][] {
  for (const end of LAST_OF_LENGTH) if (first <= end && end < last) return split(first, end, last);
  if (last <= 0x7f) return [[[first, last]]];
  // If the last bytes don't cover all of 0x80 to 0xbf, the range is cut at a multiple of what they write.
  for (const bits of [6, 12, 18]) {
    const low = (1 << bits) - 1;
    if (first >> bits === last >> bits) continue;
    if ((first & low) !== 0) return split(first, first | low, last);
    if ((last & low) !== low) return split(first, (last & ~low) - 1, last);
  }
  const [from, to] = [encode(first), encode(last)];
  return [Array.from(from, (byte, index): CharacterRange => [byte, to[index] as number])];
}

function split(first: number, end: number, last: number): CharacterRange[][] {
  return [...utf8Ranges([first, end]), ...utf8Ranges([end + 1, last])];
}

function encode(character: number): Uint8Array {
  return new TextEncoder().encode(String.fromCodePoint(character));
}
