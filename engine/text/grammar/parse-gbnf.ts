import { InputError } from '../../input/input-error.ts';
import { type CharacterRange, without } from './characters.ts';

/** A part of an alternative in a grammar's rule. */
export type GbnfPart =
  | { readonly kind: 'text'; readonly text: Uint8Array }
  | { readonly kind: 'characters'; readonly ranges: readonly CharacterRange[] }
  | { readonly kind: 'rule'; readonly name: string }
  | { readonly kind: 'group'; readonly alternatives: GbnfRule }
  | { readonly kind: 'repeat'; readonly part: GbnfPart; readonly least: number; readonly most: number };

/** Alternatives, each of parts that follow each other. */
export type GbnfRule = readonly (readonly GbnfPart[])[];
export type GbnfRules = ReadonlyMap<string, GbnfRule>;

const MOST_CHARACTERS = 2 ** 16;
const MOST_DEPTH = 100;
const MOST_REPEATS = 2 ** 14;
const LAST_CHARACTER = 0x10ffff;

const NAME = /[\w-]+/y;
const BLANKS = /(?:[ \t]|#[^\r\n]*)*/y;
const BLANKS_AND_LINES = /(?:\s|#[^\r\n]*)*/y;
const TIMES = /\{\s*(\d{1,9})\s*(?:(,)\s*(\d{1,9})?\s*)?\}/y;
const ESCAPE = /\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|([nrt\\"[\]^\-/.{}|()*+?]))/y;
const LETTERS: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' };

/**
 * The rules of a grammar in llama.cpp's notation, GBNF.
 * @throws InputError, which names the line, for what is malformed, and for tokens by number or spelling
 */
export function parseGbnf(text: string): GbnfRules {
  if (text.length > MOST_CHARACTERS)
    throw new InputError('grammar', `has ${text.length} characters; at most ${MOST_CHARACTERS} are allowed`);
  let [at, depth] = [0, 0];
  const fail = (problem: string): never => {
    const line = text.slice(0, at).split('\n').length;
    throw new InputError('grammar', `line ${line}: ${problem}`);
  };
  const found = (): string => (at < text.length ? `"${text.slice(at, at + 10).split('\n')[0]}"` : 'the end');
  const match = (expression: RegExp): RegExpExecArray | null => {
    expression.lastIndex = at;
    const result = expression.exec(text);
    if (result !== null) at += result[0].length;
    return result;
  };
  const take = (letters: string): boolean => {
    if (!text.startsWith(letters, at)) return false;
    at += letters.length;
    return true;
  };
  const expect = (letters: string): void => {
    if (!take(letters)) fail(`"${letters}" is expected, not ${found()}`);
  };
  /** A character of a text or class, as its code point. */
  const character = (): number => {
    if (text[at] === '\\') {
      const escaped = match(ESCAPE);
      if (escaped === null)
        return fail(`${found()} isn’t an escape; allowed: \\n, \\r, \\t, \\", \\\\, \\[, \\], \\x, \\u, \\U`);
      const [, two, four, eight, letter = ''] = escaped;
      const digits = two ?? four ?? eight;
      const code = digits === undefined ? (LETTERS[letter] ?? letter).charCodeAt(0) : Number.parseInt(digits, 16);
      return code <= LAST_CHARACTER ? code : fail(`U+${digits} isn’t a character`);
    }
    const code = text.codePointAt(at);
    if (code === undefined || code === 0x0a) return fail('the line ends within a text or class');
    at += code > 0xffff ? 2 : 1;
    return code;
  };
  const quoted = (): GbnfPart => {
    let own = '';
    while (!take('"')) own += String.fromCodePoint(character());
    return { kind: 'text', text: new TextEncoder().encode(own) };
  };
  const characterClass = (): GbnfPart => {
    const isNegated = take('^');
    const ranges: CharacterRange[] = [];
    while (!take(']')) {
      const first = character();
      const isRange = text[at] === '-' && text[at + 1] !== ']';
      if (isRange) at += 1;
      const last = isRange ? character() : first;
      if (last < first) fail('a range of characters ends before it begins');
      ranges.push([first, last]);
    }
    return { kind: 'characters', ranges: isNegated ? without([[0, LAST_CHARACTER]], ranges) : ranges };
  };
  const single = (): GbnfPart | undefined => {
    if (take('"')) return quoted();
    if (take('[')) return characterClass();
    if (take('.')) return { kind: 'characters', ranges: [[0, LAST_CHARACTER]] };
    if (take('(')) {
      match(BLANKS_AND_LINES);
      depth += 1;
      if (depth > MOST_DEPTH) fail(`parentheses are nested more than ${MOST_DEPTH} deep`);
      const alternatives = rule(true);
      depth -= 1;
      expect(')');
      return { kind: 'group', alternatives };
    }
    if (text[at] === '<' || text[at] === '!')
      return fail('tokens by number or spelling are not supported; write texts');
    const name = match(NAME)?.[0];
    return name === undefined ? undefined : { kind: 'rule', name };
  };
  const times = (): readonly [least: number, most: number] | undefined => {
    if (take('*')) return [0, Number.POSITIVE_INFINITY];
    if (take('+')) return [1, Number.POSITIVE_INFINITY];
    if (take('?')) return [0, 1];
    if (text[at] !== '{') return undefined;
    const [, from, comma, to] = match(TIMES) ?? fail(`${found()} isn’t a number of times, such as {2}, {2,} or {2,5}`);
    const least = Number(from);
    const most = comma === undefined ? least : to === undefined ? Number.POSITIVE_INFINITY : Number(to);
    if (most < least) fail(`{${least},${most}} ends before it begins`);
    if (Math.max(least, Number.isFinite(most) ? most : 0) > MOST_REPEATS)
      fail(`more than ${MOST_REPEATS} times are not supported`);
    return [least, most];
  };
  /** @param isNested whether lines may end between its parts */
  const rule = (isNested: boolean): GbnfRule => {
    const alternatives: GbnfPart[][] = [];
    do {
      match(BLANKS_AND_LINES);
      const parts: GbnfPart[] = [];
      for (let part = single(); part !== undefined; part = single()) {
        let own = part;
        match(isNested ? BLANKS_AND_LINES : BLANKS);
        for (let count = times(); count !== undefined; count = times()) {
          own = { kind: 'repeat', part: own, least: count[0], most: count[1] };
          match(isNested ? BLANKS_AND_LINES : BLANKS);
        }
        parts.push(own);
      }
      alternatives.push(parts);
    } while (take('|'));
    return alternatives;
  };

  const rules = new Map<string, GbnfRule>();
  match(BLANKS_AND_LINES);
  while (at < text.length) {
    const name = match(NAME)?.[0] ?? fail(`a rule’s name is expected, not ${found()}`);
    match(BLANKS);
    expect('::=');
    rules.set(name, rule(false));
    if (at < text.length && !/[\r\n]/.test(text[at] as string)) fail(`${found()} is not expected here`);
    match(BLANKS_AND_LINES);
  }
  return rules;
}
