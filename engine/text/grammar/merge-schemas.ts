import { isDeepStrictEqual } from 'node:util';
import { canonicalText, isObject, NOTES, type Schema } from './schema-keys.ts';

/** The one of two bounds that leaves fewer values. */
const NARROWER: Readonly<Record<string, (one: number, other: number) => number>> = {
  ...{
    minimum: Math.max,
    exclusiveMinimum: Math.max,
    minLength: Math.max,
    minItems: Math.max,
    minProperties: Math.max,
  },
  ...{
    maximum: Math.min,
    exclusiveMaximum: Math.min,
    maxLength: Math.min,
    maxItems: Math.min,
    maxProperties: Math.min,
  },
};

/** Counts steps of work. */
type Spend = (steps: number) => void;

/**
 * A schema that says what two say together; `undefined` where that can't be written as one.
 * @param spend called with the keys and values that are copied and compared
 */
export function mergeSchemas(one: Schema, other: Schema, spend: Spend): Schema | undefined {
  spend(sizeOf(one) + sizeOf(other));
  if (closes(one, other) || closes(other, one)) return undefined;
  const merged: Record<string, unknown> = { ...one };
  for (const [key, value] of Object.entries(other)) {
    const own = merged[key];
    if (own === undefined) merged[key] = value;
    else if (NOTES.includes(key) || isDeepStrictEqual(own, value)) continue;
    else {
      const both = mergedValue(key, own, value, spend);
      if (both === undefined) return undefined;
      merged[key] = both;
    }
  }
  return merged;
}

function mergedValue(key: string, one: unknown, other: unknown, spend: Spend): unknown {
  spend(sizeOf(one) + sizeOf(other));
  const narrower = NARROWER[key];
  if (narrower !== undefined)
    return typeof one === 'number' && typeof other === 'number' ? narrower(one, other) : undefined;
  switch (key) {
    case 'required':
      return Array.isArray(one) && Array.isArray(other) ? [...new Set([...one, ...other])] : undefined;
    case 'type': {
      const [own, theirs] = [one, other].map((types) => (Array.isArray(types) ? types : [types]));
      const common = (own ?? []).filter((type) => theirs?.includes(type));
      return common.length > 0 ? common : undefined;
    }
    case 'enum':
      return Array.isArray(one) && Array.isArray(other) ? common(one, other) : undefined;
    case 'items':
      return isObject(one) && isObject(other) ? mergeSchemas(one, other, spend) : undefined;
    case 'properties': {
      if (!isObject(one) || !isObject(other)) return undefined;
      const properties: Record<string, unknown> = { ...one };
      for (const [name, schema] of Object.entries(other)) {
        const own = Object.hasOwn(one, name) ? one[name] : undefined;
        const both =
          own === undefined ? schema : isObject(own) && isObject(schema) ? mergeSchemas(own, schema, spend) : undefined;
        if (both === undefined) return undefined;
        properties[name] = both;
      }
      return properties;
    }
    default:
      return undefined;
  }
}

function common(one: readonly unknown[], other: readonly unknown[]): unknown[] {
  const values = new Set(other.map(canonicalText));
  return one.filter((value) => values.has(canonicalText(value)));
}

function sizeOf(value: unknown): number {
  return typeof value === 'object' && value !== null ? Object.keys(value).length : 1;
}

/** Whether one schema allows only its own properties, and another has some that it lacks. */
function closes(one: Schema, other: Schema): boolean {
  if (!('additionalProperties' in one) || one.additionalProperties === true || !isObject(other.properties))
    return false;
  const own = isObject(one.properties) ? one.properties : {};
  return Object.keys(other.properties).some((name) => !Object.hasOwn(own, name));
}
