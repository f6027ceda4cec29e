import { InputError } from '../../input/input-error.ts';
import type { Routing } from '../routing.ts';

/** The experts that a token used in a layer, as a line of a recorder's file says. */
export interface RoutedRow {
  /** Ascending from token to token; they need not begin at 0 or follow each other. */
  readonly token: number;
  /** Ascending from layer to layer; layers without experts have no rows. */
  readonly layer: number;
  readonly experts: readonly number[];
}

/** Largest number of an expert or layer, and most experts of a token in a layer. */
const MOST = 65_535;

/**
 * The routing of all rows. A last token whose layers weren't all written, as its recorder was stopped, is left out.
 * @param experts N; default: one more than the largest number, as some recorders don't write it
 * @throws InputError if tokens differ in their layers or in how many experts they use
 */
export function routingOfRows(rows: readonly RoutedRow[], file: string, experts?: number): Routing {
  const numbers = [...new Set(rows.map(({ layer }) => layer))].sort((one, other) => one - other);
  const places = new Map(numbers.map((layer, place) => [layer, place]));
  const byToken = new Map<number, (readonly number[])[]>();
  for (const { token, layer, experts: chosen } of rows) {
    const layers = byToken.get(token) ?? [];
    if (layers.length === 0) byToken.set(token, layers);
    const place = places.get(layer) as number;
    if (layers[place] !== undefined) throw new InputError(file, `has token ${token} twice in layer ${layer}`);
    layers[place] = chosen;
  }
  const tokens = [...byToken.keys()].sort((one, other) => one - other);
  const lacks = (token: number): number => {
    const layers = byToken.get(token) as readonly unknown[];
    return numbers.findIndex((_, place) => layers[place] === undefined);
  };
  if (tokens.length > 1 && lacks(tokens.at(-1) as number) >= 0) tokens.pop();
  if (tokens.length === 0 || numbers.length === 0) throw new InputError(file, 'has no token that was decoded');
  const used = byToken.get(tokens[0] as number)?.find((one) => one !== undefined)?.length ?? 0;
  let largest = 0;
  const chosen = new Uint16Array(tokens.length * numbers.length * used);
  for (const [at, token] of tokens.entries()) {
    const lacking = lacks(token);
    if (lacking >= 0) throw new InputError(file, `has no experts of token ${token} in layer ${numbers[lacking]}`);
    for (const [place, own] of (byToken.get(token) as (readonly number[])[]).entries()) {
      const where = `token ${token}, layer ${numbers[place]}`;
      if (own.length !== used || used === 0)
        throw new InputError(`${file}: ${where}`, `has ${own.length} experts; the first token has ${used}`);
      if (new Set(own).size !== used) throw new InputError(`${file}: ${where}`, 'has an expert twice');
      const strange = own.find((expert) => !(Number.isInteger(expert) && expert >= 0 && expert < (experts ?? MOST)));
      if (strange !== undefined)
        throw new InputError(`${file}: ${where}`, `has expert ${strange}; allowed: 0 up to ${(experts ?? MOST) - 1}`);
      largest = Math.max(largest, ...own);
      chosen.set(own, (at * numbers.length + place) * used);
    }
  }
  return { tokens: tokens.length, layers: numbers.length, experts: experts ?? largest + 1, used, chosen };
}

/**
 * Numbers of a line of a text.
 * @throws InputError if one isn't a whole number
 */
export function wholeNumbers(line: string, separator: string | RegExp, where: string): number[] {
  return line.split(separator).map((word) => {
    if (!/^-?\d{1,9}$/.test(word.trim())) throw new InputError(where, `"${word.slice(0, 40)}" is not a whole number`);
    return Number(word);
  });
}

/** Lines that say something, with their numbers from 1. */
export function numberedLines(text: string): [line: string, number: number][] {
  return text
    .split(/\r?\n/)
    .map((line, index): [string, number] => [line, index + 1])
    .filter(([line]) => line.trim() !== '');
}
