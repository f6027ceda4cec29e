import type { PublishedCell } from '../../../datasets/published.ts';
import type { HelmComparison } from './rules.ts';

/** HELM's throughput over Accelerate's on one machine and model, as §6.3 prints it and as it comes out here. */
export interface Speedup {
  readonly cell: PublishedCell;
  readonly published: number;
  readonly predicted: number;
  readonly simulated: number;
  /** One of the two throughputs was fitted to. */
  readonly isFitted: boolean;
}

/** Every speedup of §6.3 over Accelerate, from Table 6.1's throughputs. */
export function speedups(cells: readonly PublishedCell[], comparisons: readonly HelmComparison[]): Speedup[] {
  const printed = cells.filter(({ table, column }) => table === '§6.3' && column === 'HELM / Accelerate throughput');
  return printed.flatMap((cell): Speedup[] => {
    const of = (system: string): HelmComparison | undefined =>
      comparisons.find(
        ({ cell: { table, cluster, model }, quantity }) =>
          table === 'Table 6.1' &&
          cluster === cell.cluster &&
          model === cell.model &&
          quantity.system === system &&
          quantity.kind === 'token',
      );
    const [helm, accelerate] = [of('helm'), of('accelerate')];
    if (helm === undefined || accelerate === undefined || typeof cell.value !== 'number') return [];
    const ratio = (answer: 'predicted' | 'simulated'): number => Number(helm[answer]) / Number(accelerate[answer]);
    return [
      {
        cell,
        published: cell.value,
        predicted: ratio('predicted'),
        simulated: ratio('simulated'),
        isFitted: helm.basis === 'fit' || accelerate.basis === 'fit',
      },
    ];
  });
}
