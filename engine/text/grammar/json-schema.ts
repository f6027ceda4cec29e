import { atOnce } from '../slices.ts';
import type { Automaton, State } from './automaton.ts';
import { areDisjoint } from './disjoint-schemas.ts';
import type { JsonRules } from './json-rules.ts';
import { mergeSchemas } from './merge-schemas.ts';
import { createNumberStates } from './number-schemas.ts';
import { objectStates } from './object-states.ts';
import { PatternError } from './patterns/expression.ts';
import { checkLeads, checkSize, MOST_DEPTH } from './schema-bounds.ts';
import { type Relax, SchemaError } from './schema-error.ts';
import {
  at,
  countedOf,
  isObject,
  isOnly,
  keyProblems,
  listedValues,
  NOTES,
  resolve,
  type Schema,
  type Type,
  typesOf,
  WHOLE,
} from './schema-keys.ts';
import { createTextSchemas } from './text-schemas.ts';

/** Steps of work for a part that is left out. */
const PROBLEM_STEPS = 64;

/** A schema, and where it is. */
interface Place {
  readonly schema: unknown;
  readonly path: string;
  readonly depth: number;
  /** The reference that leads here without a character between. */
  readonly from: string | undefined;
}

/**
 * Values that satisfy a JSON schema, before a state. Each of them is valid, but not every valid value can be written:
 * properties come in the schema's order and none is added unless `additionalProperties` says so, and lengths, digits and
 * white space are bounded.
 * @param relax called with parts that can't be held; without it they are thrown
 * @throws SchemaError for a key that is not supported, with its path
 */
export function schemaStates(
  automaton: Automaton,
  rules: JsonRules,
  root: unknown,
  then: State,
  relax?: Relax | undefined,
): State {
  atOnce(checkSize(root));
  const { bytes, words, either } = automaton;
  const references = new Map<string, (next: State) => State>();
  /** Schemas that references name. */
  const targets = new Map<unknown, unknown>();
  const texts = createTextSchemas(rules, leaveOut);
  const numberStates = createNumberStates(automaton, rules, leaveOut);
  /** The lists of oneOf that were checked: a schema may be in many places. */
  const disjoint = new Set<unknown>();
  /** References that lead to others without a character between. */
  const leads = new Map<string, Set<string>>();
  const entry = valueStates({ schema: root, path: '', depth: 0, from: undefined }, then);
  checkLeads(leads);
  return entry;

  /** A part of a schema that can't be held: it is left out, or the schema refused. */
  function leaveOut(problem: SchemaError): void {
    if (relax === undefined) throw problem;
    automaton.spend(PROBLEM_STEPS);
    relax(problem);
  }

  function unsupported(path: string, problem: string): void {
    leaveOut(new SchemaError(path, 'unsupported', problem));
  }

  /** The states of a value; where its schema can't be held at all, those of any value. */
  function valueStates(place: Place, next: State): State {
    try {
      return statesOf(place, next);
    } catch (error) {
      if (!(error instanceof SchemaError) || relax === undefined || place.path === '') throw error;
      leaveOut(error);
      return rules.any(next);
    }
  }

  function statesOf(place: Place, next: State): State {
    const { schema, path, depth } = place;
    if (depth > MOST_DEPTH) throw new SchemaError(path, 'invalid', `is nested deeper than ${MOST_DEPTH} levels`);
    if (schema === true || isOnlyNotes(schema)) return rules.any(next);
    if (!isObject(schema)) throw new SchemaError(path, 'invalid', 'must be a schema, an object');
    for (const problem of keyProblems(schema, path, relax === undefined)) leaveOut(problem);
    if (
      schema.not !== undefined &&
      !isOnly(schema.not, 'type') &&
      !isOnly(schema.not, 'enum') &&
      !isOnly(schema.not, 'const')
    )
      unsupported(at(path, 'not'), 'is supported with type, enum or const alone; leave it out');
    const whole = WHOLE.find((key) => key in schema);
    if (whole !== undefined) return wholeOf(place, schema, whole, next);
    return either(typesOf(schema, path).map((type) => typeOf(type, schema, place, next)));
  }

  function wholeOf(place: Place, schema: Schema, key: string, next: State): State {
    const { path, depth } = place;
    const beside = Object.keys(schema).filter(
      (other) =>
        other !== key && !['type', 'nullable'].includes(other) && !NOTES.includes(other) && !other.startsWith('x-'),
    );
    if (key === 'enum' || key === 'const') {
      for (const other of beside)
        if (other !== 'not')
          unsupported(at(path, other), `is not supported together with ${key}; leave one of them out`);
      return words([...new Set(listedValues(schema, path))], next);
    }
    if (schema.nullable === true && !('type' in schema)) {
      const { nullable: _, ...others } = schema;
      return either([bytes('null', next), valueStates({ ...place, schema: others }, next)]);
    }
    const { [key]: own, ...others } = schema;
    const isAlone = beside.length === 0 && !('type' in schema);
    const inside = (one: unknown): Place => ({ ...place, schema: one, depth: depth + 1 });
    if (key === '$ref') {
      if (isAlone) return referenceOf(place, own, next);
      return valueStates(inside(together(at(path, key), [resolved(own, at(path, key)), others])), next);
    }
    const branches = branchesOf(place, schema, key);
    if (key === 'allOf') {
      if (isAlone && branches.length === 1) return valueStates(branches[0] as Place, next);
      return valueStates(inside(together(at(path, key), [others, ...branches.map((branch) => branch.schema)])), next);
    }
    if (key === 'oneOf' && !disjoint.has(schema.oneOf)) checkDisjoint(branches, at(path, key));
    disjoint.add(schema.oneOf);
    const held = isAlone
      ? branches
      : branches.map((branch) => ({ ...branch, schema: together(branch.path, [others, branch.schema]) }));
    return either(held.map((branch) => valueStates(branch, next)));
  }

  /** A schema that says what several say; those that can't be written with the others are left out. */
  function together(path: string, schemas: readonly unknown[]): unknown {
    return schemas.reduce<unknown>((merged, one) => {
      const schema = isOnly(one, '$ref') ? targetOf(one, path) : one;
      if (merged === true || isOnlyNotes(merged)) return schema;
      if (schema === true || isOnlyNotes(schema)) return merged;
      const both = isObject(merged) && isObject(schema) ? mergeSchemas(merged, schema, automaton.spend) : undefined;
      if (both === undefined)
        unsupported(path, 'has several schemas that are not supported together; write one that says the same');
      return both ?? merged;
    }, true);
  }

  function branchesOf({ path, depth, from }: Place, schema: Schema, key: string): Place[] {
    const list = schema[key];
    if (!Array.isArray(list) || list.length === 0)
      throw new SchemaError(at(path, key), 'invalid', 'must be a list of schemas');
    return list.map((one, index) => ({ schema: one, path: `${at(path, key)}[${index}]`, depth: depth + 1, from }));
  }

  function referenceOf({ path, depth, from }: Place, pointer: unknown, next: State): State {
    const target = resolved(pointer, at(path, '$ref'));
    const name = pointer as string;
    if (from !== undefined) leads.set(from, (leads.get(from) ?? new Set()).add(name));
    let rule = references.get(name);
    if (rule === undefined) {
      const inside = { schema: target, path: name.slice(2).replaceAll('/', '.'), depth: depth + 1, from: name };
      rule = rules.rule((end) => valueStates(inside, end));
      references.set(name, rule);
    }
    return rule(next);
  }

  /** Rejects branches of oneOf with values in common, which would match twice. */
  function checkDisjoint(branches: readonly Place[], path: string): void {
    if (areDisjoint(branches.map(({ schema, path: own }) => targetOf(schema, own)))) return;
    unsupported(
      path,
      'has schemas that one value may match twice; use anyOf, or give each a type or a const of its own',
    );
  }

  /** The schema to which a schema's references lead, as far as they lead. */
  function targetOf(schema: unknown, path: string): unknown {
    let found = schema;
    for (let steps = 0; isOnly(found, '$ref') && steps < MOST_DEPTH; steps++)
      found = resolved(found.$ref, at(path, '$ref'));
    return found;
  }

  function resolved(pointer: unknown, path: string): unknown {
    if (!targets.has(pointer)) targets.set(pointer, resolve(root, pointer, path));
    return targets.get(pointer);
  }

  function typeOf(type: Type, schema: Schema, place: Place, next: State): State {
    const { path } = place;
    switch (type) {
      case 'null':
        return bytes('null', next);
      case 'boolean':
        return either([bytes('true', next), bytes('false', next)]);
      case 'string':
        return texts.states(schema, path, next);
      case 'number':
      case 'integer':
        return numberStates(type, schema, path, next);
      case 'array':
        return arrayOf(schema, place, next);
      case 'object':
        return objectOf(schema, place, next);
    }
  }

  function arrayOf(schema: Schema, { path, depth }: Place, next: State): State {
    const { uniqueItems = false } = schema;
    const isTuple = Array.isArray(schema.items) && relax !== undefined;
    // Drafts before 2020-12 call the list of them items.
    const { prefixItems = [], items } = isTuple ? { prefixItems: schema.items, items: true } : schema;
    if (uniqueItems !== false) unsupported(at(path, 'uniqueItems'), 'is not supported');
    if (!Array.isArray(prefixItems))
      throw new SchemaError(at(path, 'prefixItems'), 'invalid', 'must be a list of schemas');
    if (Array.isArray(items))
      throw new SchemaError(at(path, 'items'), 'invalid', 'must be a schema; a list of them is prefixItems');
    const counted = countedOf(schema, path, 'Items');
    const { length } = prefixItems;
    const inside = (own: unknown, name: string): Place => ({
      ...{ schema: own, path: at(path, name), depth: depth + 1, from: undefined },
    });
    const further = rules.rule((end) => valueStates(inside(items ?? true, 'items'), end));
    const isClosed = items === false || (items === undefined && length >= Math.max(1, counted.least));
    const most = isClosed ? Math.min(counted.most, length) : counted.most;
    const least = Math.min(Math.max(counted.least, length), most);
    if (counted.least > most)
      throw new SchemaError(at(path, 'minItems'), 'invalid', `is more than ${most}, the most items`);
    return rules.list(
      {
        ...{ brackets: '[]', least, most, same: length },
        item: (index, end) =>
          index < length ? valueStates(inside(prefixItems[index], `prefixItems[${index}]`), end) : further(end),
      },
      next,
    );
  }

  function objectOf(schema: Schema, { path, depth }: Place, next: State): State {
    const inside = (own: unknown, key: string): Place => ({
      ...{ schema: own, path: at(path, key), depth: depth + 1, from: undefined },
    });
    const value = (own: unknown, key: string, end: State): State => valueStates(inside(own, key), end);
    try {
      return objectStates(
        { automaton, rules, value, textsOf: texts.texts, pattern: texts.pattern, leaveOut },
        schema,
        path,
        next,
      );
    } catch (error) {
      if (!(error instanceof PatternError)) throw error;
      const key = 'patternProperties' in schema ? 'patternProperties' : 'propertyNames';
      throw new SchemaError(at(path, key), 'unsupported', `${error.message}; make it simpler`);
    }
  }
}

/** Whether a schema consists of notes only. */
function isOnlyNotes(schema: unknown): boolean {
  return isObject(schema) && Object.keys(schema).every((key) => NOTES.includes(key) || key.startsWith('x-'));
}
