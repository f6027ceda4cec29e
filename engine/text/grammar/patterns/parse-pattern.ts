import type { CharacterRange } from '../characters.ts';
import {
  CHARACTERS,
  type Expression,
  type Expressions,
  otherCharacters,
  PatternError,
  RANGES_OF_STEP,
} from './expression.ts';

/** Bounds that no pattern written by hand reaches. */
export const MOST_CHARACTERS = 2 ** 12;
export const MOST_GROUPS = 64;
const LONGEST_NAME = 64;
/** Steps for a property of Unicode: all characters are tried. */
const PROPERTY_STEPS = 2 ** 12;

const DIGITS: readonly CharacterRange[] = [[0x30, 0x39]];
const WORD: readonly CharacterRange[] = [...DIGITS, [0x41, 0x5a], [0x5f, 0x5f], [0x61, 0x7a]];
const SPACES: readonly CharacterRange[] = [
  ...[[9, 13] as const, [0x20, 0x20] as const, [0xa0, 0xa0] as const, [0x1680, 0x1680] as const],
  ...[[0x2000, 0x200a] as const, [0x2028, 0x2029] as const, [0x202f, 0x202f] as const, [0x205f, 0x205f] as const],
  ...[[0x3000, 0x3000] as const, [0xfeff, 0xfeff] as const],
];
const LINE_ENDS: readonly CharacterRange[] = [
  [10, 10],
  [13, 13],
  [0x2028, 0x2029],
];
const CLASSES: Readonly<Record<string, readonly CharacterRange[]>> = { d: DIGITS, w: WORD, s: SPACES };
const CONTROLS: Readonly<Record<string, number>> = { n: 10, r: 13, t: 9, v: 11, f: 12, 0: 0 };

/** A part of a sequence: texts, an anchor, or what must or must not follow. */
type Part =
  | { readonly kind: 'texts'; readonly texts: Expression }
  | { readonly kind: 'begin' | 'end' }
  | { readonly kind: 'ahead'; readonly texts: Expression; readonly isNegated: boolean };

/**
 * The texts in which a regular expression of ECMAScript (with the flag u) is found. Texts have characters of the basic
 * multilingual plane.
 * @throws PatternError for references to groups, word boundaries, looking behind, anchors and lookaheads in groups, and
 *   patterns that are too long, nested too deeply or too much work
 */
export function parsePattern(expressions: Expressions, pattern: string): Expression {
  const { all, any, character, empty, then, not, both, repeat } = expressions;
  if (pattern.length > MOST_CHARACTERS) throw new PatternError(`has more than ${MOST_CHARACTERS} characters`);
  const letters = [...pattern];
  expressions.spend(letters.length);
  let [at, groups] = [0, 0];
  const texts = remaining(false);
  if (at < letters.length) throw new PatternError(`has an unexpected "${letters[at]}"`);
  return texts;

  function skip(text: string): boolean {
    if (
      !letters
        .slice(at, at + text.length)
        .join('')
        .startsWith(text)
    )
      return false;
    at += [...text].length;
    return true;
  }

  /** The rest of a text from where alternatives are met, whatever follows where they don't say that it ends. */
  function remaining(beginsHere: boolean): Expression {
    const found: Expression[] = [];
    do found.push(restOf(sequence(), beginsHere));
    while (skip('|'));
    return any(found);
  }

  function restOf(parts: readonly Part[], beginsHere: boolean): Expression {
    const isBegun = parts[0]?.kind === 'begin';
    const isEnded = parts.at(-1)?.kind === 'end';
    const inner = parts.slice(isBegun ? 1 : 0, isEnded ? -1 : undefined);
    const rest = inner.reduceRight<Expression>(
      (after, part) => {
        if (part.kind === 'texts') return then(part.texts, after);
        if (part.kind === 'ahead') return both([part.isNegated ? not(part.texts) : part.texts, after]);
        throw new PatternError('has "^" or "$" within it');
      },
      isEnded ? empty : all,
    );
    return isBegun || beginsHere ? rest : then(all, rest);
  }

  /** A group's alternatives, which are texts alone. */
  function alternatives(): Expression {
    const found: Expression[] = [];
    do
      found.push(
        then(
          ...sequence().map((part) => {
            if (part.kind === 'texts') return part.texts;
            throw new PatternError('has anchors or lookaheads in a group');
          }),
        ),
      );
    while (skip('|'));
    return any(found);
  }

  function sequence(): Part[] {
    if (++groups > MOST_GROUPS) throw new PatternError(`has groups nested deeper than ${MOST_GROUPS} levels`);
    const parts: Part[] = [];
    while (at < letters.length && letters[at] !== '|' && letters[at] !== ')') parts.push(part());
    groups -= 1;
    return parts;
  }

  function part(): Part {
    if (skip('^')) return { kind: 'begin' };
    if (skip('$')) return { kind: 'end' };
    if (skip('(?=')) return { kind: 'ahead', texts: closed(remaining(true)), isNegated: false };
    if (skip('(?!')) return { kind: 'ahead', texts: closed(remaining(true)), isNegated: true };
    return { kind: 'texts', texts: quantified(atom()) };
  }

  function closed(texts: Expression): Expression {
    if (!skip(')')) throw new PatternError('has a group without end');
    return texts;
  }

  function atom(): Expression {
    if (skip('(?:')) return closed(alternatives());
    if (skip('(?<')) {
      const name = /^[^=!>][^>]*>/.exec(letters.slice(at, at + LONGEST_NAME).join(''))?.[0];
      if (name === undefined) throw new PatternError('looks behind');
      at += [...name].length;
      return closed(alternatives());
    }
    if (skip('(?')) throw new PatternError('has a group of an unknown kind');
    if (skip('(')) return closed(alternatives());
    if (skip('[')) return character(classRanges());
    if (skip('.')) return character(otherCharacters(LINE_ENDS));
    const letter = letters[at++] as string;
    if (letter === '\\') return character(escapedRanges());
    if ('*+?'.includes(letter)) throw new PatternError(`has "${letter}" with nothing before it`);
    return character([point(letter)]);
  }

  function quantified(texts: Expression): Expression {
    const bounds = quantifier();
    if (bounds === undefined) return texts;
    skip('?'); // Lazy or not, the texts are the same.
    return repeat(texts, bounds[0], bounds[1]);
  }

  function quantifier(): readonly [number, number] | undefined {
    if (skip('*')) return [0, Number.POSITIVE_INFINITY];
    if (skip('+')) return [1, Number.POSITIVE_INFINITY];
    if (skip('?')) return [0, 1];
    const found = /^\{(\d+)(?:(,)(\d*))?\}/.exec(letters.slice(at, at + 20).join(''));
    if (found === null) return undefined;
    at += found[0].length;
    const least = Number(found[1]);
    const most = found[2] === undefined ? least : found[3] === '' ? Number.POSITIVE_INFINITY : Number(found[3]);
    if (most < least) throw new PatternError(`has ${found[0]}, whose numbers are out of order`);
    return [least, most];
  }

  /** After a backslash. */
  function escapedRanges(inClass = false): CharacterRange[] {
    const letter = letters[at++];
    if (letter === undefined) throw new PatternError('ends with a backslash');
    const lower = letter.toLowerCase();
    const ranges = CLASSES[lower];
    if (ranges !== undefined) return lower === letter ? [...ranges] : otherCharacters(ranges);
    if (letter in CONTROLS && !/[1-9]/.test(letter)) return [code(CONTROLS[letter] as number)];
    if (letter === 'b' && inClass) return [code(8)];
    if (/[bB1-9k]/.test(letter)) throw new PatternError(`has \\${letter}`);
    if (letter === 'x') return [code(hexadecimal(2))];
    if (letter === 'u') {
      if (!skip('{')) return [code(hexadecimal(4))];
      const end = letters.indexOf('}', at);
      return [code(hexadecimal(end - at, end + 1))];
    }
    if (letter === 'c') return [code((letters[at++]?.codePointAt(0) ?? 0) % 32)];
    if (lower === 'p') {
      const end = letters.indexOf('}', at);
      const name = letters.slice(at, end + 1).join('');
      at = end + 1;
      return propertyRanges(expressions, `\\${letter}${name}`);
    }
    return [point(letter)];
  }

  function hexadecimal(length: number, next = at + length): number {
    const digits = letters.slice(at, at + length).join('');
    at = next;
    if (!/^[0-9a-fA-F]+$/.test(digits)) throw new PatternError('has an escape that isn’t a number');
    return Number.parseInt(digits, 16);
  }

  function classRanges(): CharacterRange[] {
    const isNegated = skip('^');
    const ranges: CharacterRange[] = [];
    while (!skip(']')) {
      if (at >= letters.length) throw new PatternError('has a class without end');
      const first = classAtom();
      if (letters[at] === '-' && letters[at + 1] !== ']' && first.length === 1 && at + 1 < letters.length) {
        at += 1;
        const last = classAtom();
        const [[from], [to]] = [first[0] as CharacterRange, last[0] as CharacterRange];
        if (last.length !== 1 || to < from) throw new PatternError('has a range out of order');
        ranges.push([from, to]);
      } else ranges.push(...first);
    }
    return isNegated ? otherCharacters(ranges) : ranges;
  }

  function classAtom(): CharacterRange[] {
    const letter = letters[at++] as string;
    return letter === '\\' ? escapedRanges(true) : [point(letter)];
  }
}

function point(letter: string): CharacterRange {
  return code(letter.codePointAt(0) as number);
}

function code(value: number): CharacterRange {
  return [value, value];
}

/** The characters of a Unicode property, such as `\p{L}`. */
function propertyRanges({ properties, spend }: Expressions, text: string): CharacterRange[] {
  const ranges = properties.get(text) ?? searchedRanges(spend, text);
  properties.set(text, ranges);
  spend(ranges.length / RANGES_OF_STEP);
  return [...ranges];
}

function searchedRanges(spend: Expressions['spend'], text: string): readonly CharacterRange[] {
  let matches: RegExp;
  try {
    matches = new RegExp(`^${text}$`, 'u');
  } catch {
    throw new PatternError(`has ${text.slice(0, 40)}, which isn’t a Unicode property`);
  }
  spend(PROPERTY_STEPS);
  const ranges: [number, number][] = [];
  for (const [first, last] of CHARACTERS)
    for (let value = first; value <= last; value++) {
      if (!matches.test(String.fromCharCode(value))) continue;
      const before = ranges.at(-1);
      if (before?.[1] === value - 1) before[1] = value;
      else ranges.push([value, value]);
    }
  return ranges;
}
