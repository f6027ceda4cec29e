/**
 * Tables that are described once. A column has a title, a key, a value and a text for readers; a table has columns
 * and rows, and comes out as text for a terminal, as a block of a page, as CSV and as JSON.
 *
 *     const COLUMNS: readonly Column<Row>[] = [
 *       { title: 'model', key: 'model', value: ({ model }) => model, label: true },
 *       { title: 'TPOT', key: 'tpot_s', value: ({ seconds }) => seconds, unit: 'seconds' },
 *       { title: 'error', value: ({ error }) => error, unit: 'deviation', tone: ({ error }) => errorTone(error) },
 *       { key: 'reason', value: ({ reason }) => reason },
 *     ];
 *     const table = { columns: COLUMNS, rows };
 *     terminalTable(table); tableBlock(table); tableCsv(table); tableJson(table);
 */

import {
  formatBytes,
  formatDeviation,
  formatPercent,
  formatSeconds,
  gibibytes,
  threeDigits,
} from '../../engine/input/format.ts';
import { formatTable, terminalWidth } from '../../engine/terminal/table.ts';
import { type CsvValue, toCsv } from './csv.ts';
import type { TableBlock, Tone } from './page/page.ts';

/**
 * How numbers are formatted for readers. `deviation` is that of a ratio from 1, `share` is in percent, `factor` has
 * three digits.
 */
export type Unit = 'seconds' | 'bytes' | 'gibibytes' | 'share' | 'deviation' | 'factor' | 'count';

export interface Column<Row> {
  /** Title for people; `\n` breaks it. A column without a title is omitted from terminal and page. */
  readonly title?: string;
  /** Name in CSV and JSON, with the unit: `tpot_s`. A column without a key is omitted from both. */
  readonly key?: string;
  /** Numbers in SI units. */
  readonly value: (row: Row) => CsvValue;
  /** Text for readers; by default the value in its unit, or nothing if it is undefined. */
  readonly text?: (row: Row) => string;
  readonly unit?: Unit;
  /** Columns with a unit are aligned right, others left, unless given. */
  readonly align?: 'left' | 'right';
  /** On a page: short names, which don't break. */
  readonly label?: boolean;
  /** Cells break where the table is too wide: at spaces, or after commas only. A page breaks all cells but labels. */
  readonly wraps?: boolean | 'items';
  /** On a page: the reader may choose one of its values. */
  readonly filter?: boolean;
  /** On a page: the colour behind the cell. */
  readonly tone?: (row: Row) => Tone | undefined;
  /** Output that shows the column; both unless given. */
  readonly on?: 'terminal' | 'page';
}

export interface Table<Row> {
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  /** Rows with the same first cell belong together: the cell is shown once. */
  readonly groups?: boolean;
  /** Columns that are empty in all rows are hidden on terminal and page. */
  readonly sparse?: boolean;
}

/** The table for a terminal of `width` columns: this one's unless given. */
export function terminalTable<Row>(table: Table<Row>, width = terminalWidth()): string {
  const columns = shownColumns(table, 'terminal');
  const cells = table.rows.map((row) => columns.map((column) => cellText(column, row)));
  const shown = cells.map((row, index) =>
    table.groups && row[0] === cells[index - 1]?.[0] ? ['', ...row.slice(1)] : row,
  );
  const heads = columns.map(({ title = '', wraps = false, label = false, ...column }) => ({
    title,
    wraps,
    label,
    align: alignment(column),
  }));
  return formatTable(heads, shown, width);
}

/** The table as a block of a page. */
export function tableBlock<Row>(
  table: Table<Row>,
  { title, fold }: Pick<TableBlock, 'title' | 'fold'> = {},
): TableBlock {
  const columns = shownColumns(table, 'page');
  const coloured = columns.some(({ tone }) => tone !== undefined);
  return {
    kind: 'table',
    ...(title !== undefined && { title }),
    ...(fold !== undefined && { fold }),
    columns: columns.map(({ title: head = '', label = false, filter = false, ...column }) => ({
      title: head,
      align: alignment(column),
      label,
      ...(filter && { filter }),
    })),
    rows: table.rows.map((row) => columns.map((column) => pageText(column, row))),
    ...(coloured && { tones: table.rows.map((row) => columns.map(({ tone }) => tone?.(row))) }),
    ...(table.groups && { groups: true }),
  };
}

/** The columns with keys as CSV; numbers are written in full. */
export function tableCsv<Row>({ columns, rows }: Table<Row>): string {
  const keyed = columns.flatMap(({ key, value }) => (key === undefined ? [] : [{ key, value }]));
  return toCsv(
    keyed.map(({ key }) => key),
    rows.map((row) => keyed.map(({ value }) => value(row))),
  );
}

/** The columns with keys as plain objects, one per row; undefined values are left out. */
export function tableJson<Row>({ columns, rows }: Table<Row>): Record<string, Exclude<CsvValue, undefined>>[] {
  return rows.map((row) =>
    Object.fromEntries(
      columns.flatMap(({ key, value }) => {
        const content = key === undefined ? undefined : value(row);
        return key === undefined || content === undefined ? [] : [[key, content]];
      }),
    ),
  );
}

/** The text of one cell. */
export function cellText<Row>({ text, value, unit }: Column<Row>, row: Row): string {
  if (text !== undefined) return text(row);
  const content = value(row);
  if (content === undefined) return '';
  return typeof content === 'number' ? inUnit(content, unit) : String(content);
}

/** As cellText, but without breaks inside the items of a list. */
function pageText<Row>(column: Column<Row>, row: Row): string {
  const text = cellText(column, row);
  return column.wraps === 'items' ? text.replaceAll(/(?<!,) /g, '\u00a0') : text;
}

function shownColumns<Row>(table: Table<Row>, place: 'terminal' | 'page'): Column<Row>[] {
  const seen = table.columns.filter(({ title, on = place }) => title !== undefined && on === place);
  return table.sparse ? seen.filter((column) => table.rows.some((row) => cellText(column, row) !== '')) : seen;
}

function alignment<Row>({ align, unit }: Pick<Column<Row>, 'align' | 'unit'>): 'left' | 'right' {
  return align ?? (unit === undefined ? 'left' : 'right');
}

function inUnit(value: number, unit: Unit = 'count'): string {
  switch (unit) {
    case 'seconds':
      return formatSeconds(value);
    case 'bytes':
      return formatBytes(value);
    case 'gibibytes':
      return gibibytes(value);
    case 'share':
      return formatPercent(value);
    case 'deviation':
      return formatDeviation(value);
    case 'factor':
      return threeDigits(value);
    case 'count':
      return String(value);
  }
}
