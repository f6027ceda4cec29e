/** How many names a message lists before it only counts them. */
const LISTED = 8;

/** `3.5 s`, without the rounding noise of sums. */
export function seconds(value: number): string {
  return `${Number(value.toPrecision(12))} s`;
}

/** `a, b and 3 more`: the first few of a list. */
export function list(texts: readonly string[], separator = ', '): string {
  if (texts.length <= LISTED) return texts.join(separator);
  return `${texts.slice(0, LISTED).join(separator)} and ${texts.length - LISTED} more`;
}
