import { suggestion } from '../../input/input-error.ts';
import type { Counted } from './json-rules.ts';
import type { NumberBounds } from './number-ranges.ts';
import { SchemaError } from './schema-error.ts';

/** A JSON schema (draft 2020-12) as an object. */
export type Schema = Readonly<Record<string, unknown>>;

const TYPES = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'] as const;
export type Type = (typeof TYPES)[number];

/** Keys that restrict nothing, or that others refer to. */
export const NOTES = [
  ...['$schema', '$id', '$comment', '$defs', 'definitions', 'title', 'description', 'default', 'examples'],
  ...['deprecated', 'readOnly', 'writeOnly', 'contentEncoding', 'contentMediaType', 'id', 'example', '$anchor'],
];

/** Keys that restrict values of a type, and say nothing of others. */
const KEYS_OF_TYPES: Readonly<Partial<Record<Type, readonly string[]>>> = {
  object: [
    ...['properties', 'required', 'additionalProperties', 'patternProperties', 'propertyNames'],
    ...['minProperties', 'maxProperties'],
  ],
  array: ['items', 'prefixItems', 'minItems', 'maxItems', 'uniqueItems'],
  string: ['minLength', 'maxLength', 'pattern', 'format'],
  number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
};

/** Keys that say everything, and next to which only notes and a type may stand. */
export const WHOLE = ['$ref', 'enum', 'const', 'anyOf', 'oneOf', 'allOf'];

/** Keys that change the types that a value may have, or leave some values out. */
const CHANGES = ['nullable', 'not'];

const KNOWN: ReadonlySet<string> = new Set([
  ...[...NOTES, 'type', ...CHANGES],
  ...[...Object.values(KEYS_OF_TYPES).flat(), ...WHOLE],
]);

/** Keys of the standard that are not supported: a name close to one isn't a misspelling. */
const UNSUPPORTED = [
  ...['if', 'then', 'else', 'dependentSchemas', 'dependentRequired', 'unevaluatedProperties', 'unevaluatedItems'],
  ...['contains', 'minContains', 'maxContains', '$dynamicRef', '$dynamicAnchor', '$vocabulary', 'contentSchema'],
  ...['dependencies', 'additionalItems'],
];

/**
 * Problems of a schema's keys: those that are unknown or not supported.
 * @param suggests whether known keys that may be meant are looked for
 */
export function* keyProblems(schema: Schema, path: string, suggests: boolean): Generator<SchemaError> {
  for (const key of Object.keys(schema)) {
    if (KNOWN.has(key) || key.startsWith('x-')) continue;
    const shown = key.slice(0, 100);
    const place = at(path, shown);
    if (UNSUPPORTED.includes(key)) yield new SchemaError(place, 'unsupported', 'is not supported; leave it out');
    else
      yield new SchemaError(
        place,
        'invalid',
        `unknown key of JSON schema${suggests ? suggestion(shown, [...KNOWN]) : ''}`,
      );
  }
}

/** The types that a value may have; by the keys where none is named. */
export function typesOf(schema: Schema, path: string): Type[] {
  const { type, nullable = false, not } = schema;
  const listed: unknown[] = Array.isArray(type) ? type : [type];
  const unknown = listed.find((one) => !TYPES.some((known) => known === one));
  if (type !== undefined && (unknown !== undefined || listed.length === 0))
    throw new SchemaError(at(path, 'type'), 'invalid', `must be one or a list of ${TYPES.join(', ')}`);
  const meant = TYPES.filter((one) => KEYS_OF_TYPES[one]?.some((key) => key in schema));
  const usual: readonly Type[] = meant.length > 0 ? meant : ['object', 'array', 'string', 'number', 'boolean', 'null'];
  const types = type === undefined ? usual : (listed as Type[]);
  const excluded = excludedTypes(not);
  const left = [...new Set([...types, ...(nullable === true ? ['null' as const] : [])])].filter(
    (one) => !excluded.includes(one),
  );
  if (left.length === 0) throw new SchemaError(at(path, 'not'), 'invalid', 'leaves no value');
  return left;
}

/** The types that `not` leaves out, where it says nothing but types. */
function excludedTypes(not: unknown): readonly unknown[] {
  if (!isOnly(not, 'type')) return [];
  const types: readonly unknown[] = Array.isArray(not.type) ? not.type : [not.type];
  return types.includes('number') ? [...types, 'integer'] : types;
}

/** Whether a schema has this key, and nothing else but notes. */
export function isOnly(schema: unknown, key: string): schema is Schema {
  return isObject(schema) && key in schema && Object.keys(schema).every((one) => one === key || NOTES.includes(one));
}

/** Whether `not` leaves a value out, where it says a type, an enum or a const alone. */
function leavesOut(not: unknown): (value: unknown) => boolean {
  const types = excludedTypes(not) as readonly Type[];
  const listed = isOnly(not, 'enum') && Array.isArray(not.enum) ? not.enum : isOnly(not, 'const') ? [not.const] : [];
  const texts = new Set(listed.map((value) => JSON.stringify(value, inOrder)));
  return (value) => types.some((type) => hasType(value, type)) || texts.has(JSON.stringify(value, inOrder));
}

/** An object with its members by name, so that equal ones have the same text. */
function inOrder(_: string, value: unknown): unknown {
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** JSON of the values of enum or const, and of null if nullable, without those that `type` or `not` leaves out. */
export function listedValues(schema: Schema, path: string): string[] {
  const key = 'enum' in schema ? 'enum' : 'const';
  const values = key === 'enum' ? schema.enum : [schema.const];
  if (!Array.isArray(values)) throw new SchemaError(at(path, key), 'invalid', 'must be a list of values');
  const types = 'type' in schema ? typesOf(schema, path) : undefined;
  const fitting = values.filter((value) => types?.some((type) => hasType(value, type)) ?? true);
  if (fitting.length === 0) throw new SchemaError(at(path, key), 'invalid', 'has no value of the type');
  const isLeftOut = leavesOut(schema.not);
  const left = [...fitting, ...(schema.nullable === true ? [null] : [])].filter((value) => !isLeftOut(value));
  if (left.length === 0) throw new SchemaError(at(path, 'not'), 'invalid', 'leaves no value');
  return left.map((value) => JSON.stringify(value));
}

function hasType(value: unknown, type: Type): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'integer':
      return Number.isInteger(value);
    case 'object':
      return isObject(value);
    case 'string':
    case 'number':
    case 'boolean':
      return typeof value === type;
  }
}

export function countedOf(schema: Schema, path: string, what: 'Length' | 'Items' | 'Properties'): Counted {
  const [least, most] = [`min${what}`, `max${what}`].map((key) => {
    const value = schema[key];
    if (value === undefined) return undefined;
    if (!(Number.isInteger(value) && (value as number) >= 0))
      throw new SchemaError(at(path, key), 'invalid', 'must be a whole number from 0 on');
    return value as number;
  });
  const counted = { least: least ?? 0, most: most ?? Number.POSITIVE_INFINITY };
  if (counted.least > counted.most) throw new SchemaError(at(path, `min${what}`), 'invalid', `is more than max${what}`);
  return counted;
}

export function boundsOf(schema: Schema, path: string): NumberBounds {
  const bound = (key: string, none: number): number => {
    const value = schema[key];
    if (value === undefined) return none;
    if (typeof value !== 'number') throw new SchemaError(at(path, key), 'invalid', 'must be a number');
    return value;
  };
  const [least, above] = [bound('minimum', -Infinity), bound('exclusiveMinimum', -Infinity)];
  const [most, below] = [bound('maximum', Infinity), bound('exclusiveMaximum', Infinity)];
  return {
    ...{ least: Math.max(least, above), most: Math.min(most, below) },
    ...{ exceptLeast: above >= least && above !== -Infinity, exceptMost: below <= most && below !== Infinity },
  };
}

/** The schema that a JSON pointer of the same document names. @throws SchemaError */
export function resolve(root: unknown, pointer: unknown, path: string): unknown {
  if (typeof pointer !== 'string' || !/^#(\/|$)/.test(pointer))
    throw new SchemaError(path, 'unsupported', 'must name a part of the same schema, such as "#/$defs/item"');
  let found = root;
  for (const part of pointer.split('/').slice(1)) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
    const inside = typeof found === 'object' && found !== null && Object.hasOwn(found, key);
    if (!inside) throw new SchemaError(path, 'invalid', `"${pointer.slice(0, 100)}" is not a part of the schema`);
    found = (found as Record<string, unknown>)[key];
  }
  return found;
}

export function isObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function at(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}

/** A value as JSON, in which equal ones are the same text. */
export function canonicalText(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    isObject(part) ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))) : part,
  );
}
