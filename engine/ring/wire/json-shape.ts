import { FrameError } from './frame-error.ts';

/** Checks a value of a peer's JSON and returns it with its type. @throws FrameError with the place of a mismatch */
export type Shape<Value> = (value: unknown, where: string) => Value;

export function number(least: number, most: number): Shape<number> {
  return (value, where) =>
    typeof value === 'number' && value >= least && value <= most
      ? value
      : fail(where, `a number from ${least} to ${most}`);
}

export function whole(least: number, most: number): Shape<number> {
  const inRange = number(least, most);
  return (value, where) => (Number.isInteger(value) ? inRange(value, where) : fail(where, 'a whole number'));
}

/** @param most the largest number of characters */
export function text(most: number): Shape<string> {
  return (value, where) =>
    typeof value === 'string' && value.length <= most ? value : fail(where, `a string of at most ${most} characters`);
}

/** One line, without characters that would control the terminal it is printed on. @param most as for text */
export function line(most: number): Shape<string> {
  const short = text(most);
  return (value, where) =>
    typeof value === 'string' && /\p{Cc}/u.test(value)
      ? fail(where, 'without control characters')
      : short(value, where);
}

export const truth: Shape<boolean> = (value, where) =>
  typeof value === 'boolean' ? value : fail(where, 'true or false');

export function matching(pattern: RegExp): Shape<string> {
  return (value, where) => (typeof value === 'string' && pattern.test(value) ? value : fail(where, String(pattern)));
}

export function oneOf<const Value extends string>(...allowed: readonly Value[]): Shape<Value> {
  return (value, where) => allowed.find((one) => one === value) ?? fail(where, `one of ${allowed.join(', ')}`);
}

export function list<Item>(item: Shape<Item>, most: number): Shape<Item[]> {
  return (value, where) =>
    Array.isArray(value) && value.length <= most
      ? value.map((one, index) => item(one, `${where}[${index}]`))
      : fail(where, `a list of at most ${most}`);
}

export function pair<First, Second>(first: Shape<First>, second: Shape<Second>): Shape<[First, Second]> {
  return (value, where) =>
    Array.isArray(value) && value.length === 2
      ? [first(value[0], `${where}[0]`), second(value[1], `${where}[1]`)]
      : fail(where, 'a list of two');
}

/** A value that may be missing; JSON has no `undefined`. */
export function optional<Value>(shape: Shape<Value>): Shape<Value | undefined> {
  return (value, where) => (value === undefined ? undefined : shape(value, where));
}

type Members<Value> = { readonly [Key in keyof Value]: Shape<Value[Key]> };

/** An object with these members and no others. */
export function object<Value>(members: Members<Value>): Shape<Value> {
  return (value, where) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return fail(where, 'an object');
    const unknown = Object.keys(value).find((key) => !Object.hasOwn(members, key));
    if (unknown !== undefined) throw new FrameError(`a message whose ${where} has an unknown member`);
    const entries = Object.entries(members) as [string, Shape<unknown>][];
    const given = value as Record<string, unknown>;
    return Object.fromEntries(entries.map(([key, shape]) => [key, shape(given[key], `${where}.${key}`)])) as Value;
  };
}

/** One of several objects, discriminated by `kind`. */
export function variant<Value extends { readonly kind: string }>(
  shapes: {
    readonly [Kind in Value['kind']]: Shape<Extract<Value, { readonly kind: Kind }>>;
  },
): Shape<Value> {
  const kinds = Object.keys(shapes) as Value['kind'][];
  return (value, where) => {
    const kind = kinds.find((one) => one === (value as { readonly kind?: unknown } | null)?.kind);
    if (kind === undefined) return fail(`${where}.kind`, `one of ${kinds.join(', ')}`);
    return shapes[kind](value, where);
  };
}

function fail(where: string, needed: string): never {
  throw new FrameError(`a message whose ${where} is not ${needed}`);
}
