import type { Automaton, State } from '../automaton.ts';
import { type CharacterRange, characters, without } from '../characters.ts';
import { CHARACTERS, type Expression, type Expressions, RANGES_OF_STEP } from './expression.ts';

/** Different ways to go on in a text: more are not worth their time. */
export const MOST_PLACES = 2048;

/** Characters that JSON writes after a backslash, and how. */
export const QUOTE = 0x22;
const ESCAPED: readonly (readonly [code: number, written: string])[] = [
  [QUOTE, '\\"'],
  [0x5c, '\\\\'],
  [8, '\\b'],
  [9, '\\t'],
  [10, '\\n'],
  [12, '\\f'],
  [13, '\\r'],
];
const CONTROL_END = 0x1f;
const RAW = without(CHARACTERS, [[0, CONTROL_END], ...ESCAPED.map(([code]): CharacterRange => [code, code])]);

interface Step {
  readonly ranges: readonly CharacterRange[];
  readonly to: Expression;
}

/** The places of a text from which it can end, and how it goes on there. */
export interface TextSteps {
  readonly begin: Expression;
  readonly steps: ReadonlyMap<Expression, readonly Step[]>;
}

/**
 * The steps of an expression's texts; `undefined` if there are none, or too many places.
 * @throws PatternError if finding them takes too many steps
 */
export function textSteps(expressions: Expressions, texts: Expression): TextSteps | undefined {
  const steps = stepsOf(expressions, texts);
  if (steps === undefined) return undefined;
  const alive = distancesToEnd(steps);
  if (!alive.has(texts)) return undefined;
  const held = [...alive.keys()].map((place) => {
    const own = (steps.get(place) ?? []).filter(({ to }) => alive.has(to));
    for (const { ranges } of own) expressions.spend(ranges.length);
    return [place, own] as const;
  });
  return { begin: texts, steps: new Map(held) };
}

/** The steps from each place of a text, up to the closing quotation mark. Characters are written as they are where JSON allows it. */
export function placeStates(
  automaton: Automaton,
  steps: TextSteps['steps'],
  then: State,
): ReadonlyMap<Expression, State> {
  const { open, add, byte } = automaton;
  const quote = byte([[QUOTE, QUOTE, then]]);
  const states = new Map([...steps.keys()].map((place) => [place, open()]));
  for (const [place, state] of states) {
    if (place.hasEmpty) add(state, quote);
    for (const { ranges, to } of steps.get(place) ?? [])
      for (const one of characterStates(automaton, ranges, states.get(to) as State)) add(state, one);
  }
  return states;
}

/** One of these characters, as JSON writes it. */
export function characterStates(automaton: Automaton, ranges: readonly CharacterRange[], then: State): State[] {
  const raw = intersection(ranges, RAW);
  const escaped = ESCAPED.filter(([code]) => ranges.some(([first, last]) => first <= code && code <= last));
  return [
    ...(raw.length > 0 ? [characters(automaton, raw, then)] : []),
    ...escaped.map(([, written]) => automaton.bytes(written, then)),
  ];
}

/** All places of an expression, and how they go on; `undefined`: too many. */
function stepsOf(expressions: Expressions, begin: Expression): ReadonlyMap<Expression, readonly Step[]> | undefined {
  const steps = new Map<Expression, readonly Step[]>();
  const open = [begin];
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    if (steps.has(place)) continue;
    if (steps.size === MOST_PLACES) return undefined;
    const byTarget = new Map<Expression, CharacterRange[]>();
    for (const ranges of classesOf(expressions, place)) {
      const to = expressions.derivative(place, (ranges[0] as CharacterRange)[0]);
      if (to === expressions.none) continue;
      addRanges(byTarget, to, ranges);
    }
    steps.set(
      place,
      [...byTarget].map(([to, ranges]) => ({ to, ranges })),
    );
    open.push(...byTarget.keys());
  }
  return steps;
}

function addRanges<Key>(sets: Map<Key, CharacterRange[]>, key: Key, ranges: readonly CharacterRange[]): void {
  const own = sets.get(key) ?? [];
  sets.set(key, own);
  for (const range of ranges) own.push(range);
}

/** Characters in classes: those of one class lead from a place to the same one. */
function classesOf({ spend }: Expressions, place: Expression): readonly (readonly CharacterRange[])[] {
  const leaves = new Set<readonly CharacterRange[]>();
  collect(place, leaves, spend);
  const bounds = new Set(CHARACTERS.flatMap(([first, last]) => [first, last + 1]));
  for (const ranges of leaves)
    for (const [first, last] of ranges) {
      bounds.add(first);
      bounds.add(last + 1);
    }
  const sorted = [...bounds].sort((a, b) => a - b);
  const sets = [...leaves];
  spend((sorted.length * (1 + sets.length)) / RANGES_OF_STEP);
  const places = sets.map(() => 0);
  const classes = new Map<string, CharacterRange[]>();
  for (const [index, first] of sorted.entries()) {
    const end = sorted[index + 1];
    if (end === undefined || !CHARACTERS.some(([from, to]) => from <= first && first <= to)) continue;
    let key = '';
    for (const [number, ranges] of sets.entries()) {
      while ((ranges[places[number] as number]?.[1] ?? Number.POSITIVE_INFINITY) < first)
        places[number] = (places[number] as number) + 1;
      key += (ranges[places[number] as number]?.[0] ?? Number.POSITIVE_INFINITY) <= first ? '1' : '0';
    }
    addRanges(classes, key, [[first, end - 1]]);
  }
  return [...classes.values()];
}

/** Characters that an expression may begin with, or tell from others there. */
function collect(place: Expression, leaves: Set<readonly CharacterRange[]>, spend: Expressions['spend']): void {
  spend(1);
  switch (place.kind) {
    case 'none':
    case 'empty':
      return;
    case 'character':
      leaves.add(place.ranges);
      return;
    case 'then':
      collect(place.first, leaves, spend);
      if (place.first.hasEmpty) collect(place.rest, leaves, spend);
      return;
    case 'any':
    case 'all':
      for (const part of place.parts) collect(part, leaves, spend);
      return;
    case 'not':
    case 'repeat':
      collect(place.inner, leaves, spend);
  }
}

/** The fewest characters after each place with which a text can end. */
export function distancesToEnd(steps: ReadonlyMap<Expression, readonly Step[]>): ReadonlyMap<Expression, number> {
  const before = new Map<Expression, Expression[]>();
  for (const [place, own] of steps)
    for (const { to } of own) {
      const places = before.get(to) ?? [];
      before.set(to, places);
      places.push(place);
    }
  const found = new Map([...steps.keys()].filter(({ hasEmpty }) => hasEmpty).map((place) => [place, 0]));
  const open = [...found.keys()];
  for (const place of open)
    for (const one of before.get(place) ?? [])
      if (!found.has(one)) {
        found.set(one, (found.get(place) as number) + 1);
        open.push(one);
      }
  return found;
}

function intersection(ranges: readonly CharacterRange[], others: readonly CharacterRange[]): CharacterRange[] {
  return ranges
    .flatMap(([first, last]) => others.map(([from, to]): CharacterRange => [Math.max(first, from), Math.min(last, to)]))
    .filter(([first, last]) => first <= last);
}
