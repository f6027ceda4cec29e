import { InputError } from '../input/input-error.ts';
import { quoted } from './gguf-error.ts';
import type { Metadata, MetadataArray, MetadataValue } from './metadata-value.ts';
import type { TextList } from './text-list.ts';

/** Reads metadata by key. Errors name the file and the key, what was found and what is needed. */
export interface MetadataFields {
  /** A whole number from 1 to `most`; `fallback` if the key is missing. */
  count(key: string, most: number, fallback?: number): number;
  /** A whole number from 1 to `most`; `undefined` if the key is missing. */
  optionalCount(key: string, most: number): number | undefined;
  /** A whole number from 0 to `end` − 1. */
  optionalIndex(key: string, end: number): number | undefined;
  /** For each of `count` layers a whole number from 0 to `end` − 1: an array, or one number for all. */
  optionalIndexes(key: string, end: number, count: number): readonly number[] | undefined;
  /** A number above 0. */
  amount(key: string, fallback?: number): number;
  /** A number above 0; `undefined` if the key is missing. */
  optionalAmount(key: string): number | undefined;
  /** A number above 0; `undefined` if the key is missing or 0, which means that nothing is multiplied. */
  factor(key: string): number | undefined;
  /** A string, which must be there. */
  text(key: string): string;
  /** A string; `undefined` if the key is missing. */
  optionalText(key: string): string | undefined;
  /** A bool; `undefined` if the key is missing. */
  optionalBool(key: string): boolean | undefined;
  /** An array of `count` bools; `undefined` if the key is missing or not an array. */
  optionalFlags(key: string, count: number): readonly boolean[] | undefined;
  /** An array of strings; `undefined` if the key is missing. */
  optionalTexts(key: string): TextList | undefined;
  /** An array of any type except strings and 64-bit integers, with a number for each of `tokens` tokens. */
  numbersPerToken(key: string, tokens: number): ArrayLike<number> | undefined;
  /** Refuses the value of a key. @throws InputError with the place of the key and the problem */
  fail(key: string, problem: string): never;
}

/**
 * @param where the place of a key, for messages
 * @throws InputError from every method, for a missing key or a value of another kind than needed
 */
export function metadataFields(
  file: string,
  metadata: Metadata,
  where = (key: string): string => `${file}: metadata ${key}`,
): MetadataFields {
  const fail = (key: string, problem: string): never => {
    throw new InputError(where(key), problem);
  };
  const mismatch = (key: string, needed: string): never => {
    const found = metadata.get(key);
    return fail(key, `${found === undefined ? 'is missing' : `is ${describeValue(found)}`}; ${needed} is needed`);
  };
  /** The value as a number, or that of a list with one for each layer, all of them equal; NaN if it isn't a whole number. */
  const whole = (key: string): number => {
    const found = metadata.get(key);
    const value = found?.type === 'array' ? commonValue(found.value) : found?.value;
    const number = typeof value === 'number' || typeof value === 'bigint' ? Number(value) : Number.NaN;
    return Number.isInteger(number) ? number : Number.NaN;
  };
  const fields: MetadataFields = {
    count(key, most, fallback) {
      if (!metadata.has(key) && fallback !== undefined) return fallback;
      const value = whole(key);
      return value >= 1 && value <= most ? value : mismatch(key, `a whole number from 1 to ${most}`);
    },
    optionalCount: (key, most) => (metadata.has(key) ? fields.count(key, most) : undefined),
    optionalIndex(key, end) {
      if (!metadata.has(key)) return undefined;
      const value = whole(key);
      return value >= 0 && value < end ? value : mismatch(key, `a whole number from 0 to ${end - 1}`);
    },
    optionalIndexes(key, end, count) {
      const found = metadata.get(key);
      if (found?.type !== 'array' || found.value.of === 'string') {
        const one = fields.optionalIndex(key, end);
        return one === undefined ? undefined : new Array<number>(count).fill(one);
      }
      const numbers = Array.from(found.value.values as ArrayLike<number | bigint>, Number);
      return numbers.length === count && numbers.every((one) => Number.isInteger(one) && one >= 0 && one < end)
        ? numbers
        : mismatch(key, `an array of ${count} whole numbers from 0 to ${end - 1}`);
    },
    amount(key, fallback) {
      const found = metadata.get(key);
      if (found === undefined && fallback !== undefined) return fallback;
      const value = found?.value;
      return typeof value === 'number' && value > 0 && value < Number.POSITIVE_INFINITY
        ? value
        : mismatch(key, 'a number above 0');
    },
    optionalAmount: (key) => (metadata.has(key) ? fields.amount(key) : undefined),
    factor: (key) => (metadata.get(key)?.value === 0 ? undefined : fields.optionalAmount(key)),
    text(key) {
      const found = metadata.get(key);
      return found?.type === 'string' ? found.value : mismatch(key, 'a string');
    },
    optionalText: (key) => (metadata.has(key) ? fields.text(key) : undefined),
    optionalBool(key) {
      const found = metadata.get(key);
      if (found === undefined) return undefined;
      return found.type === 'bool' ? found.value : mismatch(key, 'a bool');
    },
    optionalFlags(key, count) {
      const found = metadata.get(key);
      if (found?.type !== 'array') return undefined;
      const { of, values } = found.value;
      if (of !== 'bool' || values.length !== count) return mismatch(key, `an array of ${count} bools`);
      return Array.from(values as ArrayLike<number | boolean>, Boolean);
    },
    optionalTexts(key) {
      const found = metadata.get(key);
      if (found === undefined) return undefined;
      return found.type === 'array' && found.value.of === 'string'
        ? found.value.values
        : mismatch(key, 'an array of strings');
    },
    numbersPerToken(key, tokens) {
      const found = metadata.get(key);
      if (found === undefined) return undefined;
      if (found.type !== 'array' || !hasNumbers(found.value)) return mismatch(key, 'an array of numbers');
      const { values } = found.value;
      return values.length === tokens
        ? values
        : fail(key, `has ${values.length} numbers for ${tokens} tokens; one for each is needed`);
    },
    fail,
  };
  return fields;
}

/** The value that a list consists of; `undefined` if it has others or is empty. */
function commonValue({ of, values }: MetadataArray): number | bigint | undefined {
  if (of === 'string') return undefined;
  const [first] = values as ArrayLike<number | bigint> as readonly (number | bigint)[];
  for (let index = 1; index < values.length; index++) if (values[index] !== first) return undefined;
  return first;
}

function hasNumbers(array: MetadataArray): array is Extract<MetadataArray, { readonly values: ArrayLike<number> }> {
  return array.of !== 'string' && array.of !== 'uint64' && array.of !== 'int64';
}

/** `uint32 5`, `string "gpt2"`, `array of 3 float32`. */
function describeValue(found: MetadataValue): string {
  if (found.type === 'array') return `array of ${found.value.values.length} ${found.value.of}`;
  return `${found.type} ${found.type === 'string' ? quoted(found.value) : String(found.value)}`;
}
