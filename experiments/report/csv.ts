export type CsvValue = string | number | boolean | undefined;

/** CSV by RFC 4180, but with lines that end in LF. Numbers are written in full; undefined is an empty cell. */
export function toCsv(header: readonly string[], rows: readonly (readonly CsvValue[])[]): string {
  return [header, ...rows].map((row) => `${row.map(cell).join(',')}\n`).join('');
}

function cell(value: CsvValue): string {
  const text = value === undefined ? '' : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
