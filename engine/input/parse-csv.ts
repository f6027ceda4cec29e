// The build for browsers brings the `Buffer` that they lack.
import { parse } from 'csv-parse/browser/esm/sync';
import { InputError, suggestion } from './input-error.ts';

/** One row of a CSV file with known columns. */
export interface CsvRow<Column extends string> {
  /** Text of a cell, '' if it is empty. */
  cell(column: Column): string;
  /** File, row and column of a cell, for messages. */
  where(column: Column): string;
  /** The cell's text, which must be one of `allowed`. @throws InputError that suggests a name */
  oneOf<T extends string>(column: Column, allowed: readonly T[]): T;
}

/**
 * Reads CSV whose first row names the columns, in any order.
 * @param file name of the file, for messages
 * @param optional columns that may be missing, whose cells are empty then
 * @throws InputError with file and row for malformed CSV, unknown or missing columns
 */
export function parseCsv<Column extends string>(
  text: string,
  file: string,
  columns: readonly Column[],
  optional: readonly Column[] = [],
): CsvRow<Column>[] {
  const [header = [], ...rows] = readRows(text, file);
  const unknown = header.find((column) => !(columns as readonly string[]).includes(column));
  if (unknown !== undefined) {
    throw new InputError(`${file}: row 1`, `unknown column "${unknown}"${suggestion(unknown, columns)}`);
  }
  const missing = columns.find((column) => !header.includes(column) && !optional.includes(column));
  if (missing !== undefined) {
    throw new InputError(`${file}: row 1`, `column "${missing}" is missing; needed: ${columns.join(', ')}`);
  }
  return rows.map((cells, index) => {
    const row: CsvRow<Column> = {
      cell: (column) => cells[header.indexOf(column)] ?? '',
      where: (column) => `${file}: row ${index + 2}, column ${column}`,
      oneOf(column, allowed) {
        const found = allowed.find((name) => name === row.cell(column));
        if (found !== undefined) return found;
        throw new InputError(
          row.where(column),
          `unknown "${row.cell(column)}"${suggestion(row.cell(column), allowed)}`,
        );
      },
    };
    return row;
  });
}

function readRows(text: string, file: string): string[][] {
  try {
    return parse(text, { bom: true, skip_empty_lines: true, trim: true });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new InputError(file, `is not valid CSV: ${reason}`);
  }
}
