import { type CharacterRange, without } from '../characters.ts';
import type { CountWork } from '../short-work.ts';

/**
 * A set of texts. With complement and intersection, and repeats that are counted, its derivatives are expressions again
 * (Brzozowski 1964); equal expressions are one object.
 */
export type Expression = { readonly id: number; readonly hasEmpty: boolean } & (
  | { readonly kind: 'none' }
  | { readonly kind: 'empty' }
  | { readonly kind: 'character'; readonly ranges: readonly CharacterRange[] }
  | { readonly kind: 'then'; readonly first: Expression; readonly rest: Expression }
  | { readonly kind: 'any' | 'all'; readonly parts: readonly Expression[] }
  | { readonly kind: 'not'; readonly inner: Expression }
  | { readonly kind: 'repeat'; readonly inner: Expression; readonly least: number; readonly most: number }
);

/** Makes expressions. */
export interface Expressions {
  readonly none: Expression;
  readonly empty: Expression;
  /** All texts. */
  readonly all: Expression;
  character(ranges: readonly CharacterRange[]): Expression;
  text(text: string): Expression;
  then(...parts: readonly Expression[]): Expression;
  any(parts: readonly Expression[]): Expression;
  both(parts: readonly Expression[]): Expression;
  not(inner: Expression): Expression;
  repeat(inner: Expression, least: number, most: number): Expression;
  /** Expression of what may follow a character in texts of an expression. */
  derivative(expression: Expression, character: number): Expression;
  /** The characters of properties of Unicode that patterns have named. */
  readonly properties: Map<string, readonly CharacterRange[]>;
  /** Counts steps of work with these expressions. @throws PatternError if there were too many */
  spend(steps: number): void;
}

/** Texts can't be held to a pattern: it is no part of regular languages here, malformed, or too much work. */
export class PatternError extends Error {
  override readonly name = 'PatternError';
}

/** Most steps for the patterns of a schema, each well below a microsecond: others wait for them. */
export const MOST_STEPS = 2 ** 14;
/** Ranges of characters that are looked through in a step. */
export const RANGES_OF_STEP = 8;
/** Steps to find what is known. */
const LOOK_UP_STEPS = 0.25;

/** Characters of length 1 in every count: the basic multilingual plane, without surrogates. */
export const CHARACTERS: readonly CharacterRange[] = [
  [0, 0xd7ff],
  [0xe000, 0xffff],
];

type Parts = Expression extends infer One ? (One extends Expression ? Omit<One, 'id' | 'hasEmpty'> : never) : never;

/**
 * @param mostSteps of work with them
 * @param countWork called with all of these steps
 */
export function createExpressions(mostSteps: number, countWork: CountWork = () => {}): Expressions {
  const known = new Map<string, Expression>();
  const derived = new Map<string, Expression>();
  let spent = 0;
  /** Thrown again and again, since making an error takes longer than any step. */
  let exceeded: PatternError | undefined;
  const spend = (steps: number): void => {
    countWork(steps);
    spent += steps;
    if (spent <= mostSteps) return;
    exceeded ??= new PatternError('takes too many steps');
    throw exceeded;
  };
  const made = (key: string, hasEmpty: boolean, parts: Parts): Expression => {
    const found = known.get(key);
    if (found !== undefined) return found;
    spend(1);
    const expression = { id: known.size, hasEmpty, ...parts } as Expression;
    known.set(key, expression);
    return expression;
  };
  const none = made('none', false, { kind: 'none' });
  const empty = made('empty', true, { kind: 'empty' });
  const character = (ranges: readonly CharacterRange[]): Expression => {
    spend(LOOK_UP_STEPS + ranges.length / RANGES_OF_STEP);
    const merged = joined(ranges);
    return merged.length === 0 ? none : made(`c${merged.join(';')}`, false, { kind: 'character', ranges: merged });
  };
  const pair = (first: Expression, rest: Expression): Expression => {
    if (first === none || rest === none) return none;
    if (first === empty) return rest;
    if (rest === empty) return first;
    if (first.kind === 'then') return pair(first.first, pair(first.rest, rest));
    return made(`t${first.id},${rest.id}`, first.hasEmpty && rest.hasEmpty, { kind: 'then', first, rest });
  };
  const repeat = (inner: Expression, least: number, most: number): Expression => {
    if (most === 0 || inner === empty) return empty;
    if (inner === none) return least === 0 ? empty : none;
    if (least === 1 && most === 1) return inner;
    const hasEmpty = least === 0 || inner.hasEmpty;
    return made(`r${inner.id},${least},${most}`, hasEmpty, { kind: 'repeat', inner, least, most });
  };
  const all = repeat(character(CHARACTERS), 0, Number.POSITIVE_INFINITY);
  const not = (inner: Expression): Expression => {
    if (inner === none) return all;
    if (inner === all) return none;
    return inner.kind === 'not' ? inner.inner : made(`n${inner.id}`, !inner.hasEmpty, { kind: 'not', inner });
  };
  /** Joins the parts of an `any` or `all`; one of them is neutral, another decides alone. */
  const combined = (kind: 'any' | 'all', parts: readonly Expression[]): Expression => {
    const [neutral, deciding] = kind === 'any' ? [none, all] : [all, none];
    const flat = parts.flatMap((part) => (part.kind === kind ? part.parts : [part]));
    spend(flat.length);
    const unique = [...new Set(flat)].filter((part) => part !== neutral).sort((a, b) => a.id - b.id);
    if (unique.includes(deciding)) return deciding;
    if (unique.length <= 1) return unique[0] ?? neutral;
    const hasEmpty = kind === 'any' ? unique.some((one) => one.hasEmpty) : unique.every((one) => one.hasEmpty);
    return made(`${kind}${unique.map(({ id }) => id).join()}`, hasEmpty, { kind, parts: unique });
  };
  const derive = (expression: Expression, code: number): Expression => {
    switch (expression.kind) {
      case 'none':
      case 'empty':
        return none;
      case 'character':
        spend(expression.ranges.length / RANGES_OF_STEP);
        return expression.ranges.some(([first, last]) => first <= code && code <= last) ? empty : none;
      case 'then': {
        const { first, rest } = expression;
        const after = pair(derivative(first, code), rest);
        return first.hasEmpty ? combined('any', [after, derivative(rest, code)]) : after;
      }
      case 'any':
      case 'all':
        return combined(
          expression.kind,
          expression.parts.map((part) => derivative(part, code)),
        );
      case 'not':
        return not(derivative(expression.inner, code));
      case 'repeat': {
        const { inner, least, most } = expression;
        return pair(derivative(inner, code), repeat(inner, Math.max(0, least - 1), most - 1));
      }
    }
  };
  const derivative = (expression: Expression, code: number): Expression => {
    spend(LOOK_UP_STEPS);
    const key = `${expression.id},${code}`;
    const known = derived.get(key);
    if (known !== undefined) return known;
    spend(1);
    const found = derive(expression, code);
    derived.set(key, found);
    return found;
  };
  const then = (...parts: readonly Expression[]): Expression =>
    parts.reduceRight((rest, first) => pair(first, rest), empty);
  return {
    ...{ none, empty, all, character, then, not, repeat, derivative, spend },
    properties: new Map(),
    text: (text) => then(...Array.from(text, (letter) => character([pointRange(letter)]))),
    any: (parts) => combined('any', parts),
    both: (parts) => combined('all', parts),
  };
}

function pointRange(letter: string): CharacterRange {
  const code = letter.codePointAt(0) as number;
  return [code, code];
}

/** Ranges in order, without gaps between neighbours, within CHARACTERS. */
function joined(ranges: readonly CharacterRange[]): CharacterRange[] {
  const inside = ranges
    .flatMap(([first, last]) =>
      CHARACTERS.map(([from, to]): CharacterRange => [Math.max(first, from), Math.min(last, to)]),
    )
    .filter(([first, last]) => first <= last)
    .sort(([a], [b]) => a - b);
  const found: [number, number][] = [];
  for (const [first, last] of inside) {
    const before = found.at(-1);
    if (before !== undefined && first <= before[1] + 1) before[1] = Math.max(before[1], last);
    else found.push([first, last]);
  }
  return found;
}

/** The other characters. */
export function otherCharacters(ranges: readonly CharacterRange[]): CharacterRange[] {
  return without(CHARACTERS, ranges);
}
