import { InputError } from '../../input/input-error.ts';
import type { Routing } from '../routing.ts';
import { passesOfCalls, type TracedCall } from './passes.ts';
import { numberedLines, type RoutedRow, routingOfRows, wholeNumbers } from './row.ts';

/**
 * Reads what llama-moe-trace writes for llama.cpp, in either of its forms:
 * - `position,layer,expert,expert,…`, a line for each token in a layer (thecodacus/llama.cpp); those of prompts have
 *   positions below 0 and are left out;
 * - `layer,expert`, a line for each expert, token after token (ggml-org/llama.cpp, pull request 28544). As many lines
 *   of a layer follow each other as its tokens in a pass use experts; passes of more than one token are prompts and are
 *   left out.
 * @throws InputError saying which line is wrong
 */
export function parseMoeTraceCsv(text: string, file: string): Routing {
  const lines = numberedLines(text).map(([line, number]): [number[], number] => [
    wholeNumbers(line, ',', `${file}: line ${number}`),
    number,
  ]);
  const pairs = lines.every(([numbers]) => numbers.length === 2);
  if (pairs) return routingOfRows(passesOfCalls(callsOfPairs(lines), file), file);
  const rows = lines.flatMap(([[position, layer, ...experts], number]): RoutedRow[] => {
    if (position === undefined || layer === undefined || experts.length === 0)
      throw new InputError(`${file}: line ${number}`, 'has no experts; needed: position,layer,expert,…');
    return position < 0 ? [] : [{ token: position, layer, experts }];
  });
  return routingOfRows(rows, file);
}

/** Runs of lines of one layer. A token uses as many experts as the shortest run has lines. */
function callsOfPairs(lines: readonly [numbers: number[], number: number][]): TracedCall[] {
  const runs: { layer: number; experts: number[] }[] = [];
  for (const [[layer, expert]] of lines as [[number, number], number][]) {
    const last = runs.at(-1);
    if (last?.layer === layer) last.experts.push(expert);
    else runs.push({ layer, experts: [expert] });
  }
  const used = runs.reduce((least, { experts }) => Math.min(least, experts.length), Number.POSITIVE_INFINITY);
  return runs.map(({ layer, experts }) => ({
    layer,
    tokens: Array.from({ length: Math.ceil(experts.length / used) }, (_, token) =>
      experts.slice(token * used, (token + 1) * used),
    ),
  }));
}
