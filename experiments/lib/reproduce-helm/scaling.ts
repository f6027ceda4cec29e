import type { HelmComparison } from './comparisons.ts';

/** Throughput of a batch over that of one request in the same row of Table 6.2. */
export interface Scaling {
  readonly comparison: HelmComparison;
  readonly published: number;
  readonly predicted: number;
  readonly simulated: number;
  /** The cell, or the single request that it is held against, was fitted to. */
  readonly isFitted: boolean;
}

/** Every batch of Table 6.2 that ran, and runs here. */
export function scalings(comparisons: readonly HelmComparison[]): Scaling[] {
  const own = comparisons.filter(({ cell }) => cell.table === 'Table 6.2');
  return own.flatMap((comparison): Scaling[] => {
    const single = own.find(({ cell, quantity }) => cell.row === comparison.cell.row && quantity.batch === 1);
    const ratio = (answer: 'published' | 'predicted' | 'simulated'): number => {
      const [many, one] = [comparison[answer], single?.[answer]];
      return typeof many === 'number' && typeof one === 'number' ? many / one : Number.NaN;
    };
    const [published, predicted, simulated] = [ratio('published'), ratio('predicted'), ratio('simulated')];
    if (comparison.quantity.batch === 1 || Number.isNaN(published) || Number.isNaN(predicted)) return [];
    return [{ comparison, published, predicted, simulated, isFitted: comparison.basis === 'fit' }];
  });
}
