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
  /** A letter for short names, `D1` and so on, which take the place of long ones if the table is too wide. */
  readonly short?: string;
}

/** Width of tables and sentences where the terminal's is unknown, as in a pipe. */
const USUAL_WIDTH = 120;
/** Nothing is made for narrower terminals. */
const LEAST_WIDTH = 50;

/**
 * Columns of the terminal, 50 or more; those of `COLUMNS` where output is no terminal.
 * @param usual width where neither is known
 */
export function terminalWidth(usual = USUAL_WIDTH): number {
  const columns = process.stdout.columns ?? Number(process.env.COLUMNS ?? usual);
  return Number.isInteger(columns) ? Math.max(LEAST_WIDTH, columns) : usual;
}

/** Least width of a column that wraps, unless all of its cells are shorter or it has longer words. */
const NARROWEST = 12;
/** The longest words that aren't broken. */
const LONGEST_WORD = 24;

/**
 * A table for the terminal: plain text, columns two spaces apart, numbers right-aligned, a rule below the titles. If it is
 * too wide even with wrapped cells, long names of rows become short ones with a legend, where their column has some; if
 * it still is, it comes in parts below each other, each with the first column and the other leading labels, and all text
 * wraps.
 * @param rows for each row, its cells by column
 * @param width the most characters of a line
 */
export function formatTable(
  columns: readonly TableColumn[],
  rows: readonly (readonly string[])[],
  width = terminalWidth(),
): string {
  if (partsOf(columns, rows, width).length === 1 && leastWidth(columns, rows) <= width)
    return partText(columns, rows, width);
  const { named, legend } = withShortNames(columns, rows);
  const flexible = columns.map(
    (column): TableColumn => (column.align === 'right' ? column : { wraps: true, ...column }),
  );
  const parts = partsOf(flexible, named, width).map((part) =>
    partText(
      part.map((index) => flexible[index] as TableColumn),
      named.map((row) => part.map((index) => row[index] ?? '')),
      width,
    ),
  );
  const key = legend.flatMap((line) => wrapText(line, width - 2).map((text, at) => `${at === 0 ? '' : '  '}${text}\n`));
  return `${parts.join('\n')}${key.join('')}`;
}

/** One part of a table. */
function partText(columns: readonly TableColumn[], rows: readonly (readonly string[])[], width: number): string {
  const widths = fit(naturalWidths(columns, rows), leastWidths(columns, rows), width);
  const line = (cells: readonly string[]): string =>
    columns
      .map(({ align }, index) => pad(cells[index] ?? '', widths[index] as number, align ?? 'left'))
      .join('  ')
      .trimEnd();
  const wrapped = (cells: readonly string[][]): string[] =>
    Array.from({ length: Math.max(...cells.map((cell) => cell.length)) }, (_, at) =>
      line(cells.map((cell) => cell[at] ?? '')),
    );
  const titles = columns.map(({ title, wraps }, index) =>
    title.split('\n').flatMap((text) => (wraps ? wrapCell(text, widths[index] as number, true) : [text])),
  );
  const lines = wrapped(titles);
  lines.push(widths.map((size) => '─'.repeat(size)).join('  '));
  for (const row of rows)
    lines.push(
      ...wrapped(
        columns.map(({ wraps }, index) => {
          const cell = row[index] ?? '';
          return wraps ? wrapCell(cell, widths[index] as number, wraps) : [cell];
        }),
      ),
    );
  return `${lines.join('\n')}\n`;
}

/** Names that are no longer than this have no shorter ones. */
const SHORT = 6;

/** The rows with `D1` and so on in place of long names, and a legend, in columns that have a letter for that. */
function withShortNames(columns: readonly TableColumn[], rows: readonly (readonly string[])[]) {
  const legend: string[] = [];
  const short = columns.map(({ short }, index) => {
    const names = new Map<string, string>();
    if (short === undefined) return names;
    const taken = new Set(rows.map((row) => row[index] ?? ''));
    let number = 0;
    for (const name of taken) {
      if (displayWidth(name) <= SHORT) continue;
      do number++;
      while (taken.has(`${short}${number}`));
      names.set(name, `${short}${number}`);
      legend.push(`${short}${number}: ${name}`);
    }
    return names;
  });
  return { named: rows.map((row) => row.map((cell, index) => short[index]?.get(cell) ?? cell)), legend };
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

/** The lines of a cell; words that are longer than the column are broken. */
function wrapCell(cell: string, width: number, wraps: true | 'items'): string[] {
  const lines = linesOf(wraps === 'items' ? cell.split(/(?<=,) /) : wordsOf(cell), width);
  return lines
    .flatMap((line) => (displayWidth(line) > width ? linesOf(wordsOf(line), width) : [line]))
    .flatMap((line) => (displayWidth(line) > width ? linesOf(line.split(' '), width) : [line]))
    .flatMap((line) => {
      const letters = [...line];
      const count = Math.max(1, Math.ceil(letters.length / width));
      return Array.from({ length: count }, (_, at) => letters.slice(at * width, (at + 1) * width).join(''));
    });
}

/** Widths of the columns with every cell on one line. */
function naturalWidths(columns: readonly TableColumn[], rows: readonly (readonly string[])[]): number[] {
  return columns.map(({ title }, index) =>
    Math.max(...title.split('\n').map(displayWidth), ...rows.map((row) => displayWidth(row[index] ?? ''))),
  );
}

/** Least widths of the columns: those that wrap may be narrow. */
function leastWidths(columns: readonly TableColumn[], rows: readonly (readonly string[])[]): number[] {
  return naturalWidths(columns, rows).map((size, index) => {
    if (!columns[index]?.wraps) return size;
    const words = rows.flatMap((row) => wordsOf(row[index] ?? '').map(displayWidth));
    return Math.min(size, Math.max(NARROWEST, Math.min(LONGEST_WORD, Math.max(0, ...words))));
  });
}

/** Width of a table whose columns are as narrow as they can be. */
function leastWidth(columns: readonly TableColumn[], rows: readonly (readonly string[])[]): number {
  return totalOf(leastWidths(columns, rows));
}

/** Width of columns with the gaps between them. */
function totalOf(widths: readonly number[]): number {
  return widths.reduce((sum, size) => sum + size, 2 * (widths.length - 1));
}

/** Widths of the columns: as long as they are too wide together, the widest that may be narrower is made so. */
function fit(natural: readonly number[], least: readonly number[], width: number): number[] {
  const widths = [...natural];
  for (let excess = totalOf(widths) - width; excess > 0; excess--) {
    const wide = widths.map((size, index) => (size > (least[index] as number) ? size : 0));
    const widest = Math.max(...wide);
    if (widest === 0) break;
    widths[wide.lastIndexOf(widest)] = widest - 1;
  }
  return widths;
}

/** The columns of each part of a table, by index: one part if all of them fit. */
function partsOf(columns: readonly TableColumn[], rows: readonly (readonly string[])[], width: number): number[][] {
  const least = leastWidths(columns, rows);
  const all = columns.map((_, index) => index);
  const others = Math.max(
    1,
    columns.findIndex(({ label = false }) => !label),
  );
  const labels = all.slice(0, others);
  const parts: number[][] = [];
  for (const index of all.slice(others)) {
    const last = parts.at(-1);
    const together = [...(last ?? []), index].map((at) => least[at] as number);
    if (last !== undefined && totalOf(together) <= width) last.push(index);
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
