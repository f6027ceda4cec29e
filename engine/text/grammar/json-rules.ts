import type { Automaton, State } from './automaton.ts';
import { type CharacterRange, characters, without } from './characters.ts';
import { countedTextStates, MOST_WRITTEN, type SharedPlaces, sharedPlaces } from './patterns/counted-texts.ts';
import { createExpressions, type Expression, type Expressions, MOST_STEPS } from './patterns/expression.ts';
import { formatSteps } from './patterns/formats.ts';
import { type TextSteps, textSteps } from './patterns/text-states.ts';

/** The parts of JSON (RFC 8259) that all schemas use. Each comes before the state that follows it. */
export interface JsonRules {
  /** White space, or none: a space, or a line break and up to INDENT spaces. */
  space(then: State): State;
  /** A text between quotes. */
  text(length: Counted, then: State): State;
  /** Expressions of texts, for `matching`. */
  readonly expressions: Expressions;
  /**
   * A text of an expression between quotes, of a length; `undefined` if there is none, or too many ways to write one.
   * @throws PatternError
   */
  matching(texts: Expression, then: State, length?: Counted): State | undefined;
  /** A text of a format between quotes; `undefined` if none is so long. @param format one of TEXT_FORMATS */
  format(format: string, then: State, length?: Counted): State | undefined;
  /** A text between quotes that is none of these. */
  otherText(texts: readonly string[], then: State): State;
  /** Up to MOST_DIGITS digits. */
  integer(then: State): State;
  /** An integer with up to MOST_DIGITS decimals and an exponent. */
  number(then: State): State;
  /** Any value. */
  any(then: State): State;
  /** Items between brackets or braces, with commas between them. */
  list(parts: ListParts, then: State): State;
  /** A rule whose states are made once and called wherever it is used. */
  rule(make: (then: State) => State): (then: State) => State;
}

/** How often something occurs; `most` may be infinite. */
export interface Counted {
  readonly least: number;
  readonly most: number;
}

export interface ListParts extends Counted {
  readonly brackets: '[]' | '{}';
  /** The item of a place; from `same` on they are the same. */
  readonly item: (place: number, then: State) => State;
  readonly same: number;
}

/** Spaces after a line break: enough for ten levels, and a model that writes nothing else is stopped. */
const INDENT = 20;
/** Digits that a double can tell apart. With short exponents no number is infinite. */
export const MOST_DIGITS = 15;
const MOST_EXPONENT_DIGITS = 2;

const [QUOTE, BACKSLASH] = ['"', '\\'];
/** Characters that a text has as they are. */
const RAW = without(
  [[0x20, 0x10ffff]],
  [QUOTE, BACKSLASH].map((one): CharacterRange => [one.charCodeAt(0), one.charCodeAt(0)]),
);
/** Plain characters of the basic multilingual plane: of length 1 whether characters or UTF-16 units are counted. */
const PLAIN = without(RAW, [[0x10000, 0x10ffff]]);

export function createJsonRules(automaton: Automaton): JsonRules {
  const { byte, bytes, either, end, call, open, add, repeat } = automaton;
  const rule: JsonRules['rule'] = (make) => {
    let entry: State | undefined;
    return (then) => {
      if (entry === undefined) {
        // Known before it is made, so that it can call itself.
        entry = open();
        add(entry, make(end()));
      }
      return call(entry, then);
    };
  };
  const oneOf = (letters: string, then: State): State =>
    byte([...letters].map((letter) => [letter.charCodeAt(0), letter.charCodeAt(0), then] as const));
  const optional = (make: (then: State) => State, then: State): State => either([make(then), then]);
  const digits = ({ least, most }: Counted, then: State): State => {
    let state = then;
    for (let place = most; place > 0; place--) {
      const digit = byte([[0x30, 0x39, state]]);
      state = place > least ? either([digit, then]) : digit;
    }
    return state;
  };
  const hex = (count: number, then: State): State =>
    count === 0 ? then : oneOf('0123456789abcdefABCDEF', hex(count - 1, then));
  /** `\n`, `\u0041` and the like, without halves of surrogate pairs. */
  const escaped = (then: State): State => {
    const unicode = either([oneOf('0123456789abcefABCEF', hex(3, then)), oneOf('dD', oneOf('01234567', hex(2, then)))]);
    return bytes(BACKSLASH, either([oneOf('"\\/bfnrt', then), bytes('u', unicode)]));
  };
  /** A surrogate pair, such as `\ud83d\ude00`. */
  const escapedPair = (then: State): State =>
    bytes('\\u', oneOf('dD', oneOf('89abAB', hex(2, bytes('\\u', oneOf('dD', oneOf('cdefCDEF', hex(2, then))))))));

  const restOfText = rule((then) => {
    const state = open();
    const more = [characters(automaton, RAW, state), escaped(state), escapedPair(state)];
    add(state, byte([[QUOTE.charCodeAt(0), QUOTE.charCodeAt(0), then]], { takesPlain: true }));
    for (const one of more) add(state, one);
    return state;
  });
  /**
   * One character, of length 1 however it is counted: validators disagree on others, so they are left out where length
   * matters.
   */
  const plainCharacter = rule((then) => either([characters(automaton, PLAIN, then), escaped(then)]));
  const text = ({ least, most }: Counted, then: State): State => {
    const quote = bytes(QUOTE, then);
    const isBounded = most !== Number.POSITIVE_INFINITY;
    if (!isBounded && least === 0) return bytes(QUOTE, restOfText(then));
    const counted = isBounded
      ? { least, most, plainUntil: most, after: quote }
      : { least, most: least, plainUntil: most, after: restOfText(then) };
    return bytes(QUOTE, repeat({ ...counted, item: plainCharacter(end()) }));
  };

  const otherText = (texts: readonly string[], then: State): State => {
    // Without backslashes, which could spell one of the texts otherwise.
    const quote = QUOTE.charCodeAt(0);
    const free = rule((next) => {
      const state = open();
      add(state, byte([[quote, quote, next]], { takesPlain: true }));
      add(state, characters(automaton, RAW, state));
      return state;
    });
    const other = free(then);
    const tails = new Map<string, State>();
    const from = (rest: readonly string[]): State => {
      const heads = new Map<number, string[]>();
      for (const one of rest) {
        const head = one.codePointAt(0);
        if (head === undefined) continue;
        const tails = heads.get(head) ?? [];
        heads.set(head, tails);
        tails.push(one.slice(String.fromCodePoint(head).length));
      }
      const known = [...heads.keys()].map((head): CharacterRange => [head, head]);
      return either([
        ...(rest.includes('') ? [] : [bytes(QUOTE, then)]),
        characters(automaton, without(RAW, known), other, tails),
        ...[...heads]
          .filter(([head]) => RAW.some(([first, last]) => first <= head && head <= last))
          .map(([head, tails]) => bytes(String.fromCodePoint(head), from(tails))),
      ]);
    };
    return bytes(QUOTE, from(texts));
  };

  const integer = rule((then) => {
    const whole = either([bytes('0', then), oneOf('123456789', digits({ least: 0, most: MOST_DIGITS - 1 }, then))]);
    return optional((next) => bytes('-', next), whole);
  });
  const number = rule((then) => {
    const exponent = (next: State): State =>
      oneOf(
        'eE',
        optional((sign) => oneOf('+-', sign), digits({ least: 1, most: MOST_EXPONENT_DIGITS }, next)),
      );
    const decimals = (next: State): State => bytes('.', digits({ least: 1, most: MOST_DIGITS }, next));
    return integer(optional(decimals, optional(exponent, then)));
  });

  const space = rule((then) => {
    let indent = then;
    for (let left = INDENT; left > 0; left--) indent = either([then, bytes(' ', indent)]);
    return either([then, bytes(' ', then), bytes('\n', indent)]);
  });

  const list = ({ brackets, least, most, item, same }: ListParts, then: State): State => {
    const close = space(bytes(brackets.slice(1), then));
    const next = (place: number, rest: State): State =>
      place === 0 ? space(item(place, rest)) : space(bytes(',', space(item(place, rest))));
    const isBounded = most !== Number.POSITIVE_INFINITY;
    const last = isBounded ? most : Math.max(least, same + 1);
    let state = close;
    if (!isBounded) {
      state = open();
      add(state, close);
      add(state, next(last, state));
    }
    for (let place = last - 1; place >= 0; place--)
      state = either([...(place >= least ? [close] : []), next(place, state)]);
    return bytes(brackets.slice(0, 1), state);
  };

  const any = rule((then) => {
    const literals = ['true', 'false', 'null'].map((one) => bytes(one, then));
    const object = list({ ...ANY_LIST, brackets: '{}', item: (_, next) => member(next) }, then);
    const array = list({ ...ANY_LIST, brackets: '[]', item: (_, next) => any(next) }, then);
    return either([text(ANY_COUNT, then), number(then), object, array, ...literals]);
  });
  const member = (then: State): State => text(ANY_COUNT, space(bytes(':', space(any(then)))));

  const expressions = createExpressions(MOST_STEPS, automaton.countWork);
  /** The rule of each expression and format, since schemas have the same again and again. */
  const known = new Map<
    TextSteps,
    { readonly places: SharedPlaces; readonly lengths: Map<string, State | undefined> }
  >();
  const left = { places: MOST_WRITTEN };
  const texts = (steps: TextSteps, length: Counted, then: State): State | undefined => {
    const own = known.get(steps) ?? { places: sharedPlaces(automaton, steps, end()), lengths: new Map() };
    known.set(steps, own);
    const key = `${length.least} ${length.most}`;
    if (!own.lengths.has(key)) own.lengths.set(key, countedTextStates(automaton, steps, length, own.places, left));
    const entry = own.lengths.get(key);
    return entry && call(entry, then);
  };
  const stepsOf = new Map<Expression, TextSteps | undefined>();
  const matching = (all: Expression, then: State, length: Counted = ANY_COUNT): State | undefined => {
    if (!stepsOf.has(all)) stepsOf.set(all, textSteps(expressions, all));
    const steps = stepsOf.get(all);
    return steps && texts(steps, length, then);
  };
  const format = (name: string, then: State, length: Counted = ANY_COUNT): State | undefined =>
    texts(formatSteps(name, automaton.countWork), length, then);

  return { space, text, expressions, matching, format, otherText, integer, number, any, list, rule };
}

const ANY_COUNT: Counted = { least: 0, most: Number.POSITIVE_INFINITY };
const ANY_LIST = { ...ANY_COUNT, same: 0 };
