import { InputError } from '../../input/input-error.ts';
import type { Routing } from '../routing.ts';
import { numberedLines, type RoutedRow, routingOfRows } from './row.ts';

/** First line of the form. */
export const ROUTE_TRACE = '# route_trace v1';

/** Columns that are read; others are left alone. */
const COLUMNS = ['turn', 'phase', 'step', 'layer', 'slot', 'expert'] as const;
/** A phase of decoding; 0 is that of prompts. */
const DECODE = 1;

/**
 * Reads what BigMoeOnEdge writes with `--route-trace` (version 1): comments with the model's shape, and a line of CSV
 * for each expert of a token in a layer. Prompts are left out.
 * @throws InputError saying which line is wrong
 */
export function parseRouteTraceCsv(text: string, file: string): Routing {
  const lines = numberedLines(text);
  const declared = /\bn_expert=(\d{1,6})\b/.exec(lines.find(([line]) => line.startsWith('# model='))?.[0] ?? '');
  const rows = lines.filter(([line]) => !line.startsWith('#'));
  const [[header, first] = ['', 1], ...data] = rows;
  const names = header.split(',');
  const [turn, phase, step, layer, slot, expert] = COLUMNS.map((name) => {
    const place = names.indexOf(name);
    if (place < 0)
      throw new InputError(`${file}: line ${first}`, `has no column ${name}; needed: ${COLUMNS.join(', ')}`);
    return place;
  }) as [number, number, number, number, number, number];
  const found = new Map<string, { token: number; layer: number; experts: number[] }>();
  const tokens = new Map<string, number>();
  for (const [line, number] of data) {
    const cells = line.split(',');
    const read = (place: number): number => {
      const cell = cells[place] ?? '';
      if (!/^\d{1,9}$/.test(cell))
        throw new InputError(
          `${file}: line ${number}`,
          `${names[place]} is "${cell.slice(0, 40)}"; it must be a whole number`,
        );
      return Number(cell);
    };
    if (read(phase) !== DECODE) continue;
    const time = `${read(turn)} ${read(step)}`;
    const token = tokens.get(time) ?? tokens.size;
    tokens.set(time, token);
    const key = `${token} ${read(layer)}`;
    const row = found.get(key) ?? { token, layer: read(layer), experts: [] };
    found.set(key, row);
    if (read(slot) !== row.experts.length)
      throw new InputError(`${file}: line ${number}`, `slot is ${read(slot)}; ${row.experts.length} follows`);
    row.experts.push(read(expert));
  }
  const all: RoutedRow[] = [...found.values()];
  return routingOfRows(all, file, declared === null ? undefined : Number(declared[1]));
}
