import { SPACE_BEFORE_UNIT } from '../input/format.ts';

export interface TableColumn {
  /** May have several lines. */
  readonly title: string;
  /** Default: `left`; numbers belong on the right. */
  readonly align?: 'left' | 'right';
  /**
   * Whether cells wrap if the table is too wide: `true` at spaces, `'items'` after commas, and at
   * spaces only in longer items.
   */
  readonly wraps?: boolean | 'items';
  /** Whether the column names its row: it is repeated if a table that is too wide is cut into parts. */
  readonly label?: boolean;
}

/** Width of tables and sentences where the terminal's is unknown, as in a pipe. */
const USUAL_WIDTH = 120;
/** Nothing is made for narrower terminals. */
const LEAST_WIDTH = 80;

/** Columns of the terminal, 80 or more; those of `COLUMNS` where output is no terminal, else 120. */
export function terminalWidth(): number {
  const columns = process.stdout.columns ?? Number(process.env.COLUMNS ?? USUAL_WIDTH);
  return Number.isInteger(columns) ? Math.max(LEAST_WIDTH, columns) : USUAL_WIDTH;
}

/** Least width of a column that wraps. */
const NARROWEST = 12;

/**
 * A table for the terminal: plain text, columns two spaces apart, numbers right-aligned, a rule below the titles. If it
 * is too wide even with wrapped cells, it comes in parts below each other, each with the first column and the other
 * leading labels.
 * @param rows for each row, its cells by column
 * @param width the most characters of a line
 */
export function formatTable(
  columns: readonly TableColumn[],
  rows: readonly (readonly string[])[],
  width = 120,
): string {
  const natural = columns.map((column, index) =>
    Math.max(...column.title.split('\n').map(displayWidth), ...rows.map((row) => displayWidth(row[index] ?? ''))),
  );
  const parts = partsOf(columns, natural, width);
  if (parts.length > 1)
    return parts
      .map((part) =>
        formatTable(
          part.map((index) => columns[index] as TableColumn),
          rows.map((row) => part.map((index) => row[index] ?? '')),
          width,
        ),
      )
      .join('\n');
  const widths = fit(columns, natural, width);
  const line = (cells: readonly string[]): string =>
    columns
      .map(({ align }, index) => pad(cells[index] ?? '', widths[index] as number, align ?? 'left'))
      .join('  ')
      .trimEnd();
  const titles = columns.map(({ title }) => title.split('\n'));
  const lines = Array.from({ length: Math.max(...titles.map((title) => title.length)) }, (_, at) =>
    line(titles.map((title) => title[at] ?? '')),
  );
  lines.push(widths.map((size) => '─'.repeat(size)).join('  '));
  for (const row of rows) {
    const wrapped = columns.map(({ wraps }, index) => {
      const cell = row[index] ?? '';
      return wraps ? wrapCell(cell, widths[index] as number, wraps) : [cell];
    });
    const height = Math.max(...wrapped.map((cell) => cell.length));
    for (let at = 0; at < height; at++) lines.push(line(wrapped.map((cell) => cell[at] ?? '')));
  }
  return `${lines.join('\n')}\n`;
}

/** Omits columns that are empty in every row. */
export function withoutEmptyColumns<Column>(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
): { columns: Column[]; rows: string[][] } {
  const used = columns.map((_, index) => rows.some((row) => row[index] !== ''));
  return {
    columns: columns.filter((_, index) => used[index]),
    rows: rows.map((row) => row.filter((_, index) => used[index])),
  };
}

/** Breaks `text` at spaces, but not before units, into lines of at most `width`; longer words stay whole. */
export function wrapText(text: string, width: number): string[] {
  return linesOf(wordsOf(text), width);
}

function linesOf(words: readonly string[], width: number): string[] {
  const lines: string[] = [''];
  for (const word of words) {
    const last = lines.at(-1) as string;
    if (last === '') lines[lines.length - 1] = word;
    else if (displayWidth(last) + 1 + displayWidth(word) <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** The words of a text; a number and its unit are one word. */
function wordsOf(text: string): string[] {
  const parts = text.split(SPACE_BEFORE_UNIT).map((part) => part.split(' '));
  return parts.reduce((words, [first = '', ...rest]) => [...words.slice(0, -1), `${words.at(-1)} ${first}`, ...rest]);
}

function wrapCell(cell: string, width: number, wraps: true | 'items'): string[] {
  const lines = linesOf(wraps === 'items' ? cell.split(/(?<=,) /) : wordsOf(cell), width);
  return lines.flatMap((line) => (displayWidth(line) > width ? linesOf(wordsOf(line), width) : [line]));
}

/** Widths of the columns; those that wrap share the width that the others leave. */
function fit(columns: readonly TableColumn[], natural: readonly number[], width: number): number[] {
  const gaps = 2 * (columns.length - 1);
  const excess = natural.reduce((sum, size) => sum + size, gaps) - width;
  const wrapping = columns.filter((column) => column.wraps).length;
  if (excess <= 0 || wrapping === 0) return [...natural];
  return natural.map((size, index) =>
    columns[index]?.wraps ? Math.max(NARROWEST, size - Math.ceil(excess / wrapping)) : size,
  );
}

/** The columns of each part of a table, by index: one part if all of them fit. */
function partsOf(columns: readonly TableColumn[], natural: readonly number[], width: number): number[][] {
  const least = natural.map((size, index) => (columns[index]?.wraps ? Math.min(size, NARROWEST) : size));
  const total = (part: readonly number[]): number =>
    part.reduce((sum, index) => sum + (least[index] as number), 2 * (part.length - 1));
  const all = columns.map((_, index) => index);
  const others = Math.max(
    1,
    columns.findIndex(({ label = false }) => !label),
  );
  const labels = all.slice(0, others);
  const parts: number[][] = [];
  for (const index of all.slice(others)) {
    const last = parts.at(-1);
    if (last !== undefined && total([...last, index]) <= width) last.push(index);
    else parts.push([...labels, index]);
  }
  return parts.length === 0 ? [all] : parts;
}

function pad(text: string, width: number, align: 'left' | 'right'): string {
  const space = ' '.repeat(Math.max(0, width - displayWidth(text)));
  return align === 'right' ? space + text : text + space;
}

/** The number of characters, not of UTF-16 units. */
function displayWidth(text: string): number {
  return [...text].length;
}
