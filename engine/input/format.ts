/** How numbers are written for people: three digits, and a unit that keeps them between 1 and 1000. */

const UNIT = '(?:[kKMGT]i?B(?:/s)?|B(?:/s)?|[KMGT]?FLOPS?|[mµn]?s|%|pp|[kMG]Hz|[kMG]bit/s|[mkM]?W|J)(?![\\w/])';

/** Matches the space between a number and its unit, at which lines don't break. */
export const SPACE_BEFORE_UNIT: RegExp = new RegExp(`(?<=\\d) (?=${UNIT})`, 'g');

/** `0.412 ms`, `15.3 ms`, `1.23 s`, `84.0 s`. */
export function formatSeconds(seconds: number): string {
  return seconds < 1 ? `${threeDigits(seconds * 1000)} ms` : `${threeDigits(seconds)} s`;
}

/** `512 MiB`, `4.10 GiB`; 0 is `0`. */
export function formatBytes(bytes: number): string {
  if (bytes === 0) return '0';
  if (bytes < 2 ** 20) return `${threeDigits(bytes / 2 ** 10)} KiB`;
  return bytes < 2 ** 30 ? `${threeDigits(bytes / 2 ** 20)} MiB` : `${threeDigits(bytes / 2 ** 30)} GiB`;
}

/** Bytes as a bare number of GiB with one decimal, for columns whose title names the unit. */
export function gibibytes(bytes: number): string {
  return (bytes / 2 ** 30).toFixed(1);
}

/** A deviation with its sign: `+12 %`, `−3.4 %`; beyond a factor of ten as `×17`. */
export function formatDeviation(ratio: number): string {
  if (ratio >= 10) return `×${threeDigits(ratio)}`;
  const percent = 100 * (ratio - 1);
  const digits = Math.abs(percent) < 9.95 ? 1 : 0;
  const size = Math.abs(percent).toFixed(digits);
  return `${Number(size) === 0 ? '±' : percent < 0 ? '−' : '+'}${size} %`;
}

/** A share or an unsigned deviation: `12 %`, `3.4 %`. */
export function formatPercent(share: number): string {
  const percent = 100 * share;
  return `${percent.toFixed(Math.abs(percent) < 9.95 ? 1 : 0)} %`;
}

/** `1.08`, `17.0`, `342`: a factor or any bare number. */
export function threeDigits(value: number): string {
  const size = Math.abs(value);
  if (size === 0) return '0';
  if (size >= 99.95) return value.toFixed(0);
  if (size >= 9.995) return value.toFixed(1);
  return size >= 0.9995 ? value.toFixed(2) : value.toFixed(3);
}

/** `one`, `one and two`, `one, two and three`. */
export function enumerate(items: readonly string[]): string {
  if (items.length < 2) return items.join('');
  return `${items.slice(0, -1).join(', ')} and ${items.at(-1)}`;
}

/** `1 token`, `2 tokens`: a number of things, named by their singular. */
export function counted(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? '' : 's'}`;
}
