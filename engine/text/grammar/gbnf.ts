import { InputError } from '../../input/input-error.ts';
import type { Automaton, State } from './automaton.ts';
import { characters } from './characters.ts';
import { type GbnfPart, type GbnfRule, type GbnfRules, parseGbnf } from './parse-gbnf.ts';

/** The rule with which a text begins. */
const ROOT = 'root';

/**
 * The states of a grammar in llama.cpp's notation, GBNF (its grammars/README.md), from the rule `root` on.
 * @throws InputError for grammars that are malformed, lack rules, or have a rule that calls itself before any character
 */
export function gbnfStates(automaton: Automaton, text: string, then: State): State {
  const rules = parseGbnf(text);
  checkRules(rules);
  const empty = emptyRules(rules);
  checkRecursion(rules, empty);
  const entries = new Map<string, State>();
  const entryOf = (name: string): State => {
    const known = entries.get(name);
    if (known !== undefined) return known;
    // Known before it is made, so that it can call itself.
    const entry = automaton.open();
    entries.set(name, entry);
    automaton.add(entry, alternatives(rules.get(name) as GbnfRule, automaton.end()));
    return entry;
  };
  const alternatives = (all: readonly (readonly GbnfPart[])[], next: State): State =>
    automaton.either(all.map((parts) => parts.reduceRight((after, part) => stateOf(part, after), next)));
  const stateOf = (part: GbnfPart, next: State): State => {
    switch (part.kind) {
      case 'text':
        return automaton.bytes(part.text, next);
      case 'characters':
        return characters(automaton, part.ranges, next);
      case 'rule':
        return automaton.call(entryOf(part.name), next);
      case 'group':
        return alternatives(part.alternatives, next);
      case 'repeat':
        return repeated(part, next);
    }
  };
  const repeated = ({ part, least, most }: Extract<GbnfPart, { readonly kind: 'repeat' }>, next: State): State => {
    const isUnbounded = most === Number.POSITIVE_INFINITY;
    const many = (count: number, after: State): State => {
      if (count === 0) return after;
      if (!isEmptyPart(part, empty)) {
        const repeat = { item: stateOf(part, automaton.end()), least: count, most: count, after, plainUntil: 0 };
        return automaton.repeat(repeat);
      }
      return Array.from({ length: count }).reduce<State>((state) => stateOf(part, state), after);
    };
    if (isUnbounded) {
      const loop = automaton.open();
      automaton.add(loop, next);
      automaton.add(loop, stateOf(part, loop));
      return many(least, loop);
    }
    if (isEmptyPart(part, empty)) return many(most, next);
    return automaton.repeat({ item: stateOf(part, automaton.end()), least, most, after: next, plainUntil: 0 });
  };
  return automaton.call(entryOf(ROOT), then);
}

/** @throws InputError for rules that are named and not there */
function checkRules(rules: GbnfRules): void {
  const named = [ROOT, ...[...rules.values()].flatMap((all) => all.flatMap((parts) => parts.flatMap(namesOf)))];
  const missing = named.find((name) => !rules.has(name));
  if (missing === undefined) return;
  throw new InputError('grammar', `has no rule "${missing.slice(0, 40)}"; each name needs a line "name ::= …"`);
}

function namesOf(part: GbnfPart): string[] {
  switch (part.kind) {
    case 'text':
    case 'characters':
      return [];
    case 'rule':
      return [part.name];
    case 'group':
      return part.alternatives.flatMap((parts) => parts.flatMap(namesOf));
    case 'repeat':
      return namesOf(part.part);
  }
}

/** Rules that the empty text satisfies. */
function emptyRules(rules: GbnfRules): ReadonlySet<string> {
  const found = new Set<string>();
  for (let before = -1; before < found.size; ) {
    before = found.size;
    for (const [name, all] of rules)
      if (all.some((parts) => parts.every((part) => isEmptyPart(part, found)))) found.add(name);
  }
  return found;
}

function isEmptyPart(part: GbnfPart, empty: ReadonlySet<string>): boolean {
  switch (part.kind) {
    case 'text':
      return part.text.length === 0;
    case 'characters':
      return false;
    case 'rule':
      return empty.has(part.name);
    case 'group':
      return part.alternatives.some((parts) => parts.every((one) => isEmptyPart(one, empty)));
    case 'repeat':
      return part.least === 0 || isEmptyPart(part.part, empty);
  }
}

/** @throws InputError for a rule that may call itself before it takes a character: it has no end */
function checkRecursion(rules: GbnfRules, empty: ReadonlySet<string>): void {
  const first = (parts: readonly GbnfPart[]): string[] => {
    const names: string[] = [];
    for (const part of parts) {
      names.push(...firstOf(part));
      if (!isEmptyPart(part, empty)) break;
    }
    return names;
  };
  const firstOf = (part: GbnfPart): string[] => {
    switch (part.kind) {
      case 'text':
      case 'characters':
        return [];
      case 'rule':
        return [part.name];
      case 'group':
        return part.alternatives.flatMap(first);
      case 'repeat':
        return firstOf(part.part);
    }
  };
  for (const name of rules.keys()) {
    const seen = new Set<string>();
    const open = [name];
    for (let one = open.pop(); one !== undefined; one = open.pop()) {
      for (const next of (rules.get(one) ?? []).flatMap(first)) {
        if (next === name)
          throw new InputError(
            'grammar',
            `rule "${name.slice(0, 40)}" calls itself before any character; begin it with one`,
          );
        if (!seen.has(next)) open.push(next);
        seen.add(next);
      }
    }
  }
}
