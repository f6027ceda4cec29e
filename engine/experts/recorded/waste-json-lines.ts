import { z } from 'zod';
import { complaintLine, readValue } from '../../input/complaint.ts';
import { InputError } from '../../input/input-error.ts';
import { parseJson } from '../../input/parse-json.ts';
import type { Routing } from '../routing.ts';
import { numberedLines, routingOfRows } from './row.ts';

const LINE = z.object({
  tok: z.number().int().min(0),
  layers: z.array(z.array(z.number().int().min(0)).min(1)).min(1),
});

/** Whether a text has waste's form, by its first line. */
export function isWasteTrace(text: string): boolean {
  return /^\s*\{\s*"tok"\s*:/.test(text);
}

/**
 * Reads what waste writes: a line of JSON for each token, `{"tok": 1, "layers": [[expert, …], …]}`.
 * @throws InputError saying which line is wrong
 */
export function parseWasteJsonLines(text: string, file: string): Routing {
  const rows = numberedLines(text).flatMap(([line, number]) => {
    const where = `${file}: line ${number}`;
    const read = readValue(LINE, parseJson(line, where));
    if ('complaint' in read) throw new InputError(where, `is no token’s experts: ${complaintLine(read.complaint)}`);
    const { tok, layers } = read.value;
    return layers.map((experts, layer) => ({ token: tok, layer, experts }));
  });
  return routingOfRows(rows, file);
}
