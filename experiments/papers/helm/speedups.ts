import type { PublishedCell } from '../../../datasets/published.ts';
import { type Comparison, compare } from '../comparison.ts';
import type { HelmComparison } from './rules.ts';

/** HELM's throughput over Accelerate's on one machine and model, as §6.3 prints it: from Table 6.1's throughputs. */
export function speedups(cells: readonly PublishedCell[], comparisons: readonly HelmComparison[]): Comparison[] {
  const printed = cells.filter(({ table, column }) => table === '§6.3' && column === 'HELM / Accelerate throughput');
  return printed.flatMap((cell): Comparison[] => {
    const throughput = (system: string): HelmComparison | undefined =>
      comparisons.find(
        (one) =>
          one.cell.table === 'Table 6.1' &&
          one.cell.cluster === cell.cluster &&
          one.cell.model === cell.model &&
          one.detail.quantity.system === system &&
          one.detail.quantity.kind === 'token',
      );
    const [helm, accelerate] = [throughput('helm'), throughput('accelerate')];
    if (helm === undefined || accelerate === undefined || typeof cell.value !== 'number') return [];
    const ratio = (answer: 'predicted' | 'simulated'): number => Number(helm[answer]) / Number(accelerate[answer]);
    return compare(
      [
        {
          paper: 'helm',
          cell,
          policy: '',
          unit: 'x',
          published: cell.value,
          noise: cell.noise === undefined ? undefined : cell.noise / cell.value,
          use: helm.use === 'fit' || accelerate.use === 'fit' ? 'fit' : 'held-out',
          answer: () => ({
            predicted: ratio('predicted'),
            simulated: ratio('simulated'),
            target: undefined,
            detail: undefined,
          }),
        },
      ],
      () => {},
    );
  });
}
