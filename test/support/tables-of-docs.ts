import { readFileSync, writeFileSync } from 'node:fs';
import { papersTable } from './front-page.ts';

/** A table of the documentation that `npm run reproduce` prints. */
export interface TableOfDocs {
  readonly file: string;
  /** The mark around the table. */
  readonly marker: string;
  /** The file that the program writes. */
  readonly from: string;
  /** The part of it that is shown; all of it unless given. */
  readonly shown?: (printed: string) => string;
}

export const TABLES: readonly TableOfDocs[] = [
  { file: 'docs/measurements/reproduction.md', marker: 'errors by table', from: 'tables.md' },
  { file: 'README.md', marker: 'papers', from: 'groups.md', shown: papersTable },
  { file: 'docs/measurements/reproduction.md', marker: 'groups', from: 'groups.md' },
  { file: 'docs/measurements/reproduction.md', marker: 'aims', from: 'aims.md' },
  { file: 'docs/measurements/reproduction.md', marker: 'summary', from: 'summary.md' },
  { file: 'docs/measurements/reproduction.md', marker: 'schedulers', from: 'schedulers.md' },
  { file: 'docs/measurements/reproduction.md', marker: 'left out', from: 'left-out.md' },
  { file: 'docs/measurements/reproduction.md', marker: 'contradictions', from: 'contradictions.md' },
];

/** The lines of Markdown, those of tables cell by cell without the line below a header, however they are laid out. */
export function linesOf(text: string): string[][] {
  return text
    .split('\n')
    .filter((line) => line.trim() !== '' && !/^\| ?:?-/.test(line))
    .map((line) => line.split('|').map((cell) => cell.replace(/\s+/g, ' ').trim()));
}

/** The text between the marks of a table. */
export function between(text: string, marker: string): string {
  return text.split(`<!-- ${marker} -->`)[1]?.split(`<!-- end of ${marker} -->`)[0] ?? '';
}

/** Writes a table between its marks. @throws Error where the file has none */
export function renewTable(file: string, marker: string, table: string): void {
  const text = readFileSync(file, 'utf8');
  const [begin, end] = [`<!-- ${marker} -->\n`, `\n<!-- end of ${marker} -->`];
  const [start, stop] = [text.indexOf(begin), text.indexOf(end)];
  if (start < 0 || stop < start) throw new Error(`${file} has no ${begin.trim()} … ${end.trim()}`);
  writeFileSync(file, `${text.slice(0, start + begin.length)}\n${table}${text.slice(stop)}`);
}
