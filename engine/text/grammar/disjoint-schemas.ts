import { isDeepStrictEqual } from 'node:util';
import { isObject, WHOLE } from './schema-keys.ts';

/** Whether no value matches both: by their types, or by a property that both require with other constants. */
export function areDisjoint(one: unknown, other: unknown): boolean {
  const [types, others] = [possibleTypes(one), possibleTypes(other)];
  if (types === undefined || others === undefined) return false;
  if (!types.some((type) => others.includes(type))) return true;
  const [constants, theirs] = [constantsOf(one), constantsOf(other)];
  if (constants !== undefined && theirs !== undefined) return areApart(constants, theirs);
  if (types.join() !== 'object' || others.join() !== 'object') return false;
  return requiredOf(one).some((name) => {
    const [own, its] = [one, other].map((schema) => constantsOf(propertyOf(schema, name)));
    return requiredOf(other).includes(name) && own !== undefined && its !== undefined && areApart(own, its);
  });
}

/** Types that a schema's values can have, integers as numbers; `undefined`: unknown. */
function possibleTypes(schema: unknown): string[] | undefined {
  if (!isObject(schema)) return undefined;
  const constants = constantsOf(schema);
  if (constants !== undefined)
    return [...new Set(constants.map((one) => (one === null ? 'null' : Array.isArray(one) ? 'array' : typeof one)))];
  if (schema.type === undefined || WHOLE.some((key) => key in schema)) return undefined;
  const listed = Array.isArray(schema.type) ? schema.type : [schema.type];
  return listed.map((type) => (type === 'integer' ? 'number' : String(type)));
}

function constantsOf(schema: unknown): readonly unknown[] | undefined {
  if (!isObject(schema)) return undefined;
  if ('const' in schema) return [schema.const];
  return Array.isArray(schema.enum) ? schema.enum : undefined;
}

function areApart(values: readonly unknown[], others: readonly unknown[]): boolean {
  return !values.some((value) => others.some((other) => isDeepStrictEqual(value, other)));
}

function requiredOf(schema: unknown): readonly string[] {
  return isObject(schema) && Array.isArray(schema.required) ? schema.required : [];
}

function propertyOf(schema: unknown, name: string): unknown {
  return isObject(schema) && isObject(schema.properties) ? schema.properties[name] : undefined;
}
