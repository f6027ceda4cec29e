import { InputError } from '../../input/input-error.ts';
import type { Routing } from '../routing.ts';
import { passesOfCalls } from './passes.ts';
import { numberedLines, routingOfRows, wholeNumbers } from './row.ts';

/** A line: the number of a call, a token's place in it, the layer, and experts with their weights. */
const LINE = /^\s*\d+ \d+ \d+( \d+:\S+)+\s*$/;

/** Whether a text has colibri's form, by its first line. */
export function isColibriTrace(text: string): boolean {
  return LINE.test(text.slice(0, text.indexOf('\n') < 0 ? undefined : text.indexOf('\n')));
}

/**
 * Reads what colibri writes with ROUTE_TRACE: `call row layer expert:weight expert:weight …`, a line for each token of a
 * layer's call. Passes of more than one token are prompts and are left out.
 * @throws InputError saying which line is wrong
 */
export function parseColibriTrace(text: string, file: string): Routing {
  const calls = new Map<number, { layer: number; tokens: number[][] }>();
  for (const [line, number] of numberedLines(text)) {
    const where = `${file}: line ${number}`;
    if (!LINE.test(line)) throw new InputError(where, 'is not "call row layer expert:weight …"');
    const [call, row, layer, ...chosen] = line.trim().split(' ') as [string, string, string, ...string[]];
    const [id, at, of] = wholeNumbers([call, row, layer].join(' '), ' ', where) as [number, number, number];
    const known = calls.get(id) ?? { layer: of, tokens: [] };
    calls.set(id, known);
    if (known.layer !== of) throw new InputError(where, `call ${id} is of layer ${known.layer}, not ${of}`);
    if (at !== known.tokens.length) throw new InputError(where, `row is ${at}; ${known.tokens.length} follows`);
    known.tokens.push(chosen.map((one) => Number(one.slice(0, one.indexOf(':')))));
  }
  return routingOfRows(passesOfCalls([...calls.values()], file), file);
}
