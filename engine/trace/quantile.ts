/**
 * The value below which a share of all values lies, 0 to 1, by linear interpolation between neighbours (definition 7 of
 * Hyndman and Fan 1996); undefined for no values.
 */
export function quantile(values: readonly number[], share: number): number | undefined {
  const sorted = values.toSorted((a, b) => a - b);
  const position = share * (sorted.length - 1);
  const below = sorted[Math.floor(position)];
  const above = sorted[Math.ceil(position)];
  if (below === undefined || above === undefined) return undefined;
  return below + (above - below) * (position - Math.floor(position));
}
