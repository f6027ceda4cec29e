/** The share of each layer of a device that is in memory at one moment, from 0 to 1, in the order of its layers. */
export interface Residency {
  /** Seconds since 1970, or since the start of the trace once aligned with it. */
  readonly time: number;
  readonly shares: readonly number[];
}

/**
 * Residency on a regular grid, for a picture: each column has the last sample before its end.
 * @param seen in order of time
 * @returns a row per layer, a column per time step; null before the first sample
 */
export function residencyGrid(
  seen: readonly Residency[],
  { from, to, columns }: { readonly from: number; readonly to: number; readonly columns: number },
): { readonly times: number[]; readonly rows: (number | null)[][] } {
  const step = (to - from) / columns;
  const layers = seen[0]?.shares.length ?? 0;
  const rows: (number | null)[][] = Array.from({ length: layers }, () => []);
  const times: number[] = [];
  let next = 0;
  for (let column = 0; column < columns; column++) {
    const end = from + (column + 1) * step;
    while (next < seen.length && (seen[next] as Residency).time < end) next += 1;
    times.push(from + (column + 0.5) * step - from);
    for (const [layer, row] of rows.entries()) row.push(seen[next - 1]?.shares[layer] ?? null);
  }
  return { times, rows };
}

/** How often each layer is loaded between two moments: the sum of all rises of its share. */
export function loadsOf(seen: readonly Residency[], from: number, to: number): number[] {
  const inside = seen.filter(({ time }) => time >= from && time <= to);
  return (inside[0]?.shares ?? []).map((_, layer) =>
    inside.slice(1).reduce((sum, { shares }, index) => {
      const rise = (shares[layer] as number) - (inside[index]?.shares[layer] as number);
      return sum + Math.max(0, rise);
    }, 0),
  );
}
