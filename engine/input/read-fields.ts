import { InputError, nearest, suggestion } from './input-error.ts';
import { type Dimension, type Quantity, readQuantity } from './quantity.ts';

/**
 * Reads an object of a configuration file key by key. Errors name file and path. `end` rejects keys that were never
 * read and suggests the nearest one that was.
 */
export interface Fields {
  place(key: string): string;
  text(key: string): string;
  optionalText(key: string): string | undefined;
  texts(key: string, length: number): string[];
  optionalTruth(key: string): boolean | undefined;
  optionalTexts(key: string): string[] | undefined;
  /** A whole number from `least` (1 by default) to 4096. */
  count(key: string, least?: number): number;
  /** Whole numbers of at least 1. */
  counts(key: string): number[];
  /** Lists of whole numbers of at least 0. */
  numberLists(key: string): number[][];
  /** A number of 0 or more. */
  amount(key: string): number;
  optionalAmount(key: string): number | undefined;
  /** A number of 0 or more, or `word`. */
  amountOr<Word extends string>(key: string, word: Word): number | Word;
  keys(): string[];
  oneOf<T extends string>(key: string, allowed: readonly T[]): T;
  optionalOneOf<T extends string>(key: string, allowed: readonly T[]): T | undefined;
  /** SI value of a quantity; a missing one is read from `fallback`. */
  quantity(key: string, dimension: Dimension, fallback?: string): number;
  optionalQuantity(key: string, dimension: Dimension): number | undefined;
  isPresent(key: string): boolean;
  isPlainObject(key: string): boolean;
  object(key: string): Fields;
  optionalObject(key: string): Fields | undefined;
  list(key: string): Fields[];
  optionalList(key: string): Fields[] | undefined;
  /** Fields of `value`, used in place of a missing key. */
  sub(key: string, value: unknown): Fields;
  end(): void;
}

/**
 * @param path of `raw` in the file, '' for the root
 * @param note receives every quantity with its path
 */
export function readFields(
  raw: unknown,
  file: string,
  path: string,
  note: (path: string, found: Quantity) => void,
): Fields {
  const join = (key: string): string => (path === '' ? key : `${path}.${key}`);
  const place = (key: string): string => `${file}: ${join(key)}`;
  if (!isObject(raw))
    throw new InputError(path === '' ? file : `${file}: ${path}`, `an object { … } is needed, not ${describe(raw)}`);
  const read = new Set<string>();
  const get = (key: string): unknown => {
    read.add(key);
    return raw[key];
  };
  const fail = (key: string, needed: string): never => {
    const value = raw[key];
    if (value !== undefined) throw new InputError(place(key), `${needed} is needed, not ${describe(value)}`);
    const misspelt = nearest(
      key,
      Object.keys(raw).filter((name) => !read.has(name)),
    );
    const hint = misspelt === undefined ? '' : ` (found "${misspelt}")`;
    throw new InputError(place(key), `is missing; ${needed} is needed${hint}`);
  };
  const fields: Fields = {
    place,
    text(key) {
      const value = get(key);
      return typeof value === 'string' && value.trim() !== '' ? value : fail(key, 'a text');
    },
    optionalText: (key) => (get(key) === undefined ? undefined : fields.text(key)),
    texts(key, length) {
      const value = get(key);
      const fits = Array.isArray(value) && value.length === length && value.every((item) => typeof item === 'string');
      return fits ? value : fail(key, `a list of ${length} texts`);
    },
    optionalTruth(key) {
      const value = get(key);
      if (value === undefined || typeof value === 'boolean') return value;
      throw new InputError(fields.place(key), `true or false is needed, not ${JSON.stringify(value)}`);
    },
    optionalTexts(key) {
      const value = get(key);
      if (value === undefined) return undefined;
      const fits = Array.isArray(value) && value.every((item) => typeof item === 'string');
      return fits ? value : fail(key, 'a list of texts');
    },
    count(key, least = 1) {
      const value = get(key);
      const fits = typeof value === 'number' && Number.isInteger(value) && value >= least && value <= 4096;
      return fits ? value : fail(key, `a whole number between ${least} and 4096`);
    },
    counts(key) {
      const value = get(key);
      const fits = Array.isArray(value) && value.every((item) => Number.isSafeInteger(item) && item >= 1);
      return fits ? value : fail(key, 'a list of whole numbers of at least 1');
    },
    numberLists(key) {
      const value = get(key);
      const isNumber = (item: unknown): boolean => Number.isSafeInteger(item) && (item as number) >= 0;
      const fits = Array.isArray(value) && value.every((list) => Array.isArray(list) && list.every(isNumber));
      return fits ? value : fail(key, 'a list of lists of whole numbers of at least 0');
    },
    amount(key) {
      const value = get(key);
      return typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER
        ? value
        : fail(key, 'a number of 0 or more');
    },
    optionalAmount: (key) => (get(key) === undefined ? undefined : fields.amount(key)),
    amountOr(key, word) {
      const value = get(key);
      if (value === word) return word;
      return typeof value === 'number' ? fields.amount(key) : fail(key, `a number of 0 or more, or "${word}",`);
    },
    keys: () => Object.keys(raw),
    oneOf(key, allowed) {
      const value = get(key);
      if (typeof value !== 'string') return fail(key, `one of ${allowed.join(', ')}`);
      const found = allowed.find((name) => name === value);
      if (found === undefined) throw new InputError(place(key), `unknown "${value}"${suggestion(value, allowed)}`);
      return found;
    },
    optionalOneOf: (key, allowed) => (get(key) === undefined ? undefined : fields.oneOf(key, allowed)),
    quantity(key, dimension, fallback) {
      const quantity = readQuantity(get(key) ?? fallback, dimension, place(key));
      note(join(key), quantity);
      return quantity.value;
    },
    optionalQuantity: (key, dimension) => (get(key) === undefined ? undefined : fields.quantity(key, dimension)),
    isPresent: (key) => get(key) !== undefined,
    isPlainObject(key) {
      const value = get(key);
      return isObject(value) && !('value' in value);
    },
    object(key) {
      const value = get(key);
      return value === undefined ? fail(key, 'an object { … }') : readFields(value, file, join(key), note);
    },
    optionalObject: (key) => (get(key) === undefined ? undefined : fields.object(key)),
    list(key) {
      const value = get(key);
      if (!Array.isArray(value)) return fail(key, 'a list [ … ]');
      return value.map((item, index) => readFields(item, file, `${join(key)}[${index}]`, note));
    },
    optionalList: (key) => (get(key) === undefined ? undefined : fields.list(key)),
    sub: (key, value) => readFields(value, file, join(key), note),
    end() {
      const unknown = Object.keys(raw).find((key) => !read.has(key));
      if (unknown !== undefined) throw new InputError(place(unknown), `unknown key${suggestion(unknown, [...read])}`);
    },
  };
  return fields;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function describe(value: unknown): string {
  const text = textOf(value);
  return text.length > 40 ? `${text.slice(0, 37)}…` : text;
}

function textOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch (error) {
    if (error instanceof RangeError) return 'one that is nested too deep';
    throw error;
  }
}
