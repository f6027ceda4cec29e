import { InputError } from '../../input/input-error.ts';
import type { Routing } from '../routing.ts';
import { isColibriTrace, parseColibriTrace } from './colibri-trace.ts';
import { parseHearthJson } from './hearth-json.ts';
import { parseMoeTraceCsv } from './moe-trace-csv.ts';
import { parseRouteTraceCsv, ROUTE_TRACE } from './route-trace-csv.ts';
import { isWasteTrace, parseWasteJsonLines } from './waste-json-lines.ts';

/**
 * Reads recorded routings by name, in the form of `hearth routing` or of another recorder, which is known from the
 * beginning of the text. Other recorders' files have one routing, which is called as the file is.
 * @throws InputError saying where the file is no such record
 */
export function parseRoutings(text: string, file: string): ReadonlyMap<string, Routing> {
  const parse = otherForm(text);
  if (parse !== undefined) return new Map([[nameOf(file), parse(text, file)]]);
  if (!text.trimStart().startsWith('{'))
    throw new InputError(
      file,
      'is no record of routings; read are files of hearth routing, BigMoeOnEdge, llama-moe-trace, colibri and waste',
    );
  return parseHearthJson(text, file);
}

function otherForm(text: string): ((text: string, file: string) => Routing) | undefined {
  if (text.startsWith(ROUTE_TRACE) || text.startsWith('turn,phase,')) return parseRouteTraceCsv;
  if (/^-?\d+,\d+/.test(text)) return parseMoeTraceCsv;
  if (isColibriTrace(text)) return parseColibriTrace;
  return isWasteTrace(text) ? parseWasteJsonLines : undefined;
}

/** The file's name without folder and ending. */
function nameOf(file: string): string {
  return file.replace(/^.*[\\/]/, '').replace(/\.[^.]*$/, '');
}
