/** Tables of the documentation that `npm run reproduce` prints: the file, the mark around the table, and its source. */
export const TABLES = [
  { file: 'README.md', marker: 'errors by table', from: 'tables.md' },
  { file: 'docs/reproduction.md', marker: 'summary', from: 'summary.md' },
] as const;

/** The cells of a Markdown table, row by row, without the line below its header. */
export function rowsOf(text: string): string[][] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('|') && !/^\| ?:?-/.test(line))
    .map((line) => line.split('|').map((cell) => cell.trim()));
}

/** The text between the marks of a table. */
export function between(text: string, marker: string): string {
  return text.split(`<!-- ${marker} -->`)[1]?.split(`<!-- end of ${marker} -->`)[0] ?? '';
}
