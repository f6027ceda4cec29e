import type { PublishedCell } from '../../../datasets/published.ts';
import { type Comparison, compare, type Rule } from '../comparison.ts';
import type { HelmConstants } from './constants.ts';
import { FALLBACK_BANDWIDTH } from './systems.ts';

/** CPU rates that the thesis states along with its latencies. They are inputs of the simulation, so only predictions have them. */
export function rateComparisons(cells: readonly PublishedCell[], { cpuBandwidth }: HelmConstants): Comparison[] {
  const kernel = (machine: string): number => cpuBandwidth[machine] ?? Number.NaN;
  const found = (cell: PublishedCell): { readonly unit: string; readonly value: number } | undefined => {
    const { table, row, column, cluster } = cell;
    if (table === '§4.1.5' && row.startsWith('AVX2')) {
      if (column === 'memory rate') return { unit: 'GB/s', value: kernel(cluster) / 1e9 };
      if (column === 'speedup over PyTorch fallback') return { unit: 'x', value: kernel(cluster) / FALLBACK_BANDWIDTH };
    }
    return undefined;
  };
  const rules = cells.flatMap((cell): Rule<undefined>[] => {
    const here = found(cell);
    if (here === undefined || typeof cell.value !== 'number') return [];
    const { unit, value } = here;
    return [
      {
        paper: 'helm',
        cell,
        policy: '',
        unit,
        published: cell.value,
        noise: cell.noise === undefined ? undefined : cell.noise / cell.value,
        use: 'held-out',
        answer: () => ({ predicted: value, simulated: undefined, target: undefined, detail: undefined }),
      },
    ];
  });
  return compare(rules, () => {});
}
