import { InputError, suggestion } from '../input/input-error.ts';

/** Reads `--flag a,b,c`. @throws InputError for empty or repeated entries */
export function readList(flag: string, text: string): string[] {
  const items = text.split(',').map((item) => item.trim());
  if (items.includes('')) throw new InputError(flag, `"${text}" has an empty entry; separate entries by one comma`);
  const twice = items.find((item, index) => items.indexOf(item) !== index);
  if (twice !== undefined) throw new InputError(flag, `"${twice}" occurs twice; name it once`);
  return items;
}

/** Reads `--flag a,b,c` whose entries are from a closed list. @throws InputError with the nearest name */
export function readChoices<T extends string>(flag: string, text: string, allowed: readonly T[]): T[] {
  return readList(flag, text).map((item) => readChoice(flag, item, allowed));
}

/** Reads `--flag a` from a closed list. @throws InputError with the nearest name */
export function readChoice<T extends string>(flag: string, text: string, allowed: readonly T[]): T {
  const found = allowed.find((name) => name === text);
  if (found === undefined) throw new InputError(flag, `unknown "${text}"${suggestion(text, allowed)}`);
  return found;
}

/** Reads a whole number. @throws InputError unless it is from `least` to `most` */
export function readCount(flag: string, text: string, least = 1, most = 1e7): number {
  const value = /^[+-]?\d+$/.test(text.trim()) ? Number(text) : Number.NaN;
  if (!(value >= least && value <= most))
    throw new InputError(flag, `"${text}" is not a whole number between ${least} and ${most}`);
  return value;
}

/** Reads a decimal number. @throws InputError unless it is from `least` to `most` */
export function readNumber(flag: string, text: string, least: number, most: number): number {
  const value = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text.trim()) ? Number(text) : Number.NaN;
  if (!(value >= least && value <= most))
    throw new InputError(flag, `"${text}" is not a number between ${least} and ${most}`);
  return value;
}
