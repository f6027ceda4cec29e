export type CsvValue = string | number | boolean | undefined;

/**
 * CSV by RFC 4180, but with lines that end in LF. Numbers are written in full; undefined is an empty cell. Texts that a
 * spreadsheet would compute begin with an apostrophe, which it takes for the mark of a text (OWASP, CSV Injection).
 */
export function toCsv(header: readonly string[], rows: readonly (readonly CsvValue[])[]): string {
  return [header, ...rows].map((row) => `${row.map(cell).join(',')}\n`).join('');
}

/** Beginnings of formulas, in half and full width, and characters before them that spreadsheets skip. */
const FORMULA = /^[=+\-@＝＋－＠\t\r\n]/;
/** A number in text, which a spreadsheet computes to itself. */
const NUMBER = /^[+-]?\d+(\.\d+)?(e[+-]?\d+)?$/i;

function cell(value: CsvValue): string {
  const isComputed = typeof value === 'string' && FORMULA.test(value) && !NUMBER.test(value);
  const text = isComputed ? `'${value}` : String(value ?? '');
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
