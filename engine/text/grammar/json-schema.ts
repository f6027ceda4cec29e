import type { Automaton, State } from './automaton.ts';
import { areDisjoint } from './disjoint-schemas.ts';
import type { JsonRules } from './json-rules.ts';
import { MOST_DECIMALS, numbersWithin } from './number-ranges.ts';
import { SchemaError } from './schema-error.ts';
import {
  at,
  boundsOf,
  checkKeys,
  countedOf,
  isObject,
  listedValues,
  NOTES,
  resolve,
  type Schema,
  type Type,
  typesOf,
  WHOLE,
} from './schema-keys.ts';

/** Bounds of a schema that nobody writes by hand, far below those at which its reading would take long. */
const MOST_DEPTH = 64;
const MOST_LEVELS = 4 * MOST_DEPTH;
const MOST_SCHEMA_CHARACTERS = 2 ** 17;
const LONGEST_KEY = 256;

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
 * @throws SchemaError for a key that is not supported, with its path; nothing is ignored
 */
export function schemaStates(automaton: Automaton, rules: JsonRules, root: unknown, then: State): State {
  checkSize(root);
  const { bytes, words, either } = automaton;
  const references = new Map<string, (next: State) => State>();
  /** References that lead to others without a character between. */
  const leads = new Map<string, Set<string>>();
  const entry = valueStates({ schema: root, path: '', depth: 0, from: undefined }, then);
  checkLeads(leads);
  return entry;

  function valueStates(place: Place, next: State): State {
    const { schema, path, depth } = place;
    if (depth > MOST_DEPTH) throw new SchemaError(path, 'invalid', `is nested deeper than ${MOST_DEPTH} levels`);
    if (schema === true) return rules.any(next);
    if (!isObject(schema)) throw new SchemaError(path, 'invalid', 'must be a schema, an object');
    checkKeys(schema, path);
    const whole = WHOLE.find((key) => key in schema);
    if (whole !== undefined) return wholeOf(place, schema, whole, next);
    return either(typesOf(schema, path).map((type) => typeOf(type, schema, place, next)));
  }

  function wholeOf(place: Place, schema: Schema, key: string, next: State): State {
    const { path } = place;
    const beside = Object.keys(schema).find((other) => other !== key && other !== 'type' && !NOTES.includes(other));
    if (beside !== undefined)
      throw new SchemaError(at(path, beside), 'unsupported', `is not supported beside ${key}; leave one of them out`);
    if (key === 'enum' || key === 'const') return words(listedValues(schema, path), next);
    if ('type' in schema)
      throw new SchemaError(at(path, 'type'), 'unsupported', `is not supported beside ${key}; put it into its schemas`);
    if (key === '$ref') return referenceOf(place, schema.$ref, next);
    const branches = branchesOf(place, schema, key);
    if (key === 'allOf' && branches.length > 1)
      throw new SchemaError(at(path, key), 'unsupported', 'has several schemas; write one that says the same');
    if (key === 'oneOf') checkDisjoint(branches, at(path, key));
    return either(branches.map((branch) => valueStates(branch, next)));
  }

  function branchesOf({ path, depth, from }: Place, schema: Schema, key: string): Place[] {
    const list = schema[key];
    if (!Array.isArray(list) || list.length === 0)
      throw new SchemaError(at(path, key), 'invalid', 'must be a list of schemas');
    return list.map((one, index) => ({ schema: one, path: `${at(path, key)}[${index}]`, depth: depth + 1, from }));
  }

  function referenceOf({ path, depth, from }: Place, pointer: unknown, next: State): State {
    const target = resolve(root, pointer, at(path, '$ref'));
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

  /** What two branches of oneOf have in common would match twice. */
  function checkDisjoint(branches: readonly Place[], path: string): void {
    const resolved = branches.map(({ schema, path: own }) => {
      let found = schema;
      for (let steps = 0; isObject(found) && '$ref' in found && steps < MOST_DEPTH; steps++)
        found = resolve(root, found.$ref, at(own, '$ref'));
      return found;
    });
    for (const [index, one] of resolved.entries())
      for (const other of resolved.slice(0, index))
        if (!areDisjoint(one, other)) {
          const problem =
            'has schemas that one value may match twice; use anyOf, or give each a type or a const of its own';
          throw new SchemaError(path, 'unsupported', problem);
        }
  }

  function typeOf(type: Type, schema: Schema, place: Place, next: State): State {
    const { path } = place;
    switch (type) {
      case 'null':
        return bytes('null', next);
      case 'boolean':
        return either([bytes('true', next), bytes('false', next)]);
      case 'string':
        return rules.text(countedOf(schema, path, 'Length'), next);
      case 'number':
      case 'integer':
        return numberOf(type, schema, path, next);
      case 'array':
        return arrayOf(schema, place, next);
      case 'object':
        return objectOf(schema, place, next);
    }
  }

  function numberOf(type: 'number' | 'integer', schema: Schema, path: string, next: State): State {
    const bounds = boundsOf(schema, path);
    if (bounds.least === -Infinity && bounds.most === Infinity) return rules[type](next);
    const found = numbersWithin(automaton, bounds, type === 'integer' ? 0 : MOST_DECIMALS, next);
    if (found !== undefined) return found;
    const key = bounds.least === -Infinity ? 'maximum' : 'minimum';
    throw new SchemaError(
      at(path, key),
      'unsupported',
      `leaves no ${type} that this server can write; widen the bounds`,
    );
  }

  function arrayOf(schema: Schema, { path, depth }: Place, next: State): State {
    const { prefixItems = [], items, uniqueItems = false } = schema;
    if (uniqueItems !== false) throw new SchemaError(at(path, 'uniqueItems'), 'unsupported', 'is not supported');
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

  /** Properties in their order, those that aren't required or left out, and then others, if there may be any. */
  function objectOf(schema: Schema, { path, depth }: Place, next: State): State {
    const { properties = {}, required = [], additionalProperties } = schema;
    if (!isObject(properties)) throw new SchemaError(at(path, 'properties'), 'invalid', 'must be an object of schemas');
    if (!(Array.isArray(required) && required.every((name) => typeof name === 'string')))
      throw new SchemaError(at(path, 'required'), 'invalid', 'must be a list of property names');
    const inside = (own: unknown, name: string): Place => ({
      ...{ schema: own, path: at(path, name), depth: depth + 1, from: undefined },
    });
    const further = inside(additionalProperties ?? true, 'additionalProperties');
    const known = Object.entries(properties).map(([name, own]) => ({ name, place: inside(own, `properties.${name}`) }));
    for (const name of new Set(required)) {
      if (Object.hasOwn(properties, name)) continue;
      if (additionalProperties === false)
        throw new SchemaError(at(path, 'required'), 'invalid', `has "${name}", which properties lacks`);
      known.push({ name, place: further });
    }
    const long = known.find(({ name }) => name.length > LONGEST_KEY);
    if (long !== undefined)
      throw new SchemaError(at(path, 'properties'), 'unsupported', `has a name of over ${LONGEST_KEY} characters`);
    const saysNothing = known.length === 0 && !('properties' in schema);
    const isOpen = additionalProperties === undefined ? saysNothing : additionalProperties !== false;
    const names = known.map(({ name }) => name);
    const { space } = rules;
    const comma = (member: State): State => space(bytes(',', space(member)));
    const value = (place: Place, end: State): State => space(bytes(':', space(valueStates(place, end))));

    const close = space(bytes('}', next));
    /** What may follow a property, and what may follow the brace. */
    let [after, first] = [close, close];
    if (isOpen) {
      after = automaton.open();
      const other = rules.otherText(names, value(further, after));
      automaton.add(after, close);
      automaton.add(after, comma(other));
      first = either([close, space(other)]);
    }
    for (const { name, place } of known.toReversed()) {
      const member = bytes(JSON.stringify(name), value(place, after));
      const isRequired = required.includes(name);
      first = either([space(member), ...(isRequired ? [] : [first])]);
      after = either([comma(member), ...(isRequired ? [] : [after])]);
    }
    return bytes('{', first);
  }
}

/**
 * Checks a schema before anything walks through it: its text has many characters or levels only if it is hostile.
 * @throws SchemaError
 */
export function checkSize(root: unknown): void {
  let level: readonly unknown[] = [root];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MOST_LEVELS)
      throw new SchemaError('', 'invalid', `is nested deeper than ${MOST_LEVELS} levels of JSON`);
    level = level.flatMap((one) => (typeof one === 'object' && one !== null ? Object.values(one) : []));
  }
  const { length } = JSON.stringify(root) ?? '';
  if (length > MOST_SCHEMA_CHARACTERS)
    throw new SchemaError('', 'invalid', `has ${length} characters; at most ${MOST_SCHEMA_CHARACTERS} are read`);
}

/** @throws SchemaError for references that lead to themselves without saying anything */
function checkLeads(leads: ReadonlyMap<string, ReadonlySet<string>>): void {
  const done = new Set<string>();
  const visit = (name: string, above: ReadonlySet<string>): void => {
    if (above.has(name))
      throw new SchemaError('$ref', 'invalid', `"${name.slice(0, 100)}" leads to itself without a value between`);
    if (done.has(name)) return;
    for (const next of leads.get(name) ?? []) visit(next, new Set([...above, name]));
    done.add(name);
  };
  for (const name of leads.keys()) visit(name, new Set());
}
