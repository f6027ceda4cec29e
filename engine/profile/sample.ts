/** A quantity that was measured several times. */
export interface Sample {
  readonly median: number;
  /** Half the range of the middle half of the values, as a share of the median: 0.05 is ± 5 %. */
  readonly spread: number;
  readonly repeats: number;
}

/** @param values at least one, in any order @throws RangeError without one */
export function sampleOf(values: readonly number[]): Sample {
  if (values.length === 0) throw new RangeError('nothing was measured');
  const sorted = [...values].sort((a, b) => a - b);
  const median = quantileOf(sorted, 0.5);
  const spread = (quantileOf(sorted, 0.75) - quantileOf(sorted, 0.25)) / 2 / Math.abs(median);
  return { median, spread: Number.isFinite(spread) ? spread : 0, repeats: values.length };
}

/** The sample in another unit; with `rate` 'inverse', seconds become a rate and the reverse. */
export function scaled({ median, spread, repeats }: Sample, factor: number, rate?: 'inverse'): Sample {
  return { median: rate === 'inverse' ? factor / median : factor * median, spread, repeats };
}

/** Quantile by linear interpolation between the two nearest values. */
function quantileOf(sorted: readonly number[], share: number): number {
  const at = share * (sorted.length - 1);
  const below = sorted[Math.floor(at)] as number;
  const above = sorted[Math.ceil(at)] as number;
  return below + (at - Math.floor(at)) * (above - below);
}
