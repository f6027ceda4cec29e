import { findPublished, type PublishedCell } from '../../../datasets/published.ts';
import { activationBytes, ROOFLINE_RUNTIME } from '../../../engine/cost/roofline.ts';
import type { Cluster } from '../../../engine/hardware/cluster.ts';
import type { Model } from '../../../engine/model/model.ts';
import { createWorkload } from '../../../engine/model/workload.ts';
import { cpuGpuSplit } from '../../../engine/schedule/helm/cpu-gpu-split.ts';
import { type Comparison, compare, type Rule } from '../comparison.ts';

/** A printed split next to the one that the search finds; units are blocks, embedding and output projection. */
export interface SplitCheck {
  readonly machine: string;
  readonly model: string;
  readonly table: string;
  readonly published: readonly [cpu: number, gpu: number];
  readonly found: readonly [cpu: number, gpu: number] | undefined;
  /** Whether the reserve of VRAM is fitted to it. */
  readonly isFitted: boolean;
  /** W_act: bytes that cross between CPU and GPU for a token (Eq. 4.4), here and as printed. */
  readonly boundaryBytes: number;
  readonly publishedBytes: number | undefined;
}

const KIB = 1024;
/** The machine whose two splits bound the reserve of VRAM. */
const FITTED_MACHINE = 'helm-4060';

type ClusterOf = (name: string) => Cluster;
type ModelOf = (name: string) => Model;

/** The units of the best split on the rates in the machine's file. */
function foundUnits(cluster: Cluster, model: Model): SplitCheck['found'] {
  const { best } = cpuGpuSplit({ belief: cluster, model, workload: createWorkload({ context: 192 }) });
  return best && [best.cpuUnits, best.gpuUnits];
}

/** Every printed split with units on both sides. */
export function splitChecks(cells: readonly PublishedCell[], clusterOf: ClusterOf, modelOf: ModelOf): SplitCheck[] {
  const plans = findPublished(cells, { system: 'helm', metric: 'split' });
  return plans.flatMap((cell): SplitCheck[] => {
    const { cluster, model: name, table, row, column, value } = cell;
    if (column !== 'Plan CPU units' || row.startsWith('running example')) return [];
    const gpu = plans.find((one) => one.table === table && one.row === row && one.column === 'Plan GPU units')?.value;
    if (typeof value !== 'number' || typeof gpu !== 'number') return [];
    const model = modelOf(name);
    const printed = cells.find((one) => one.model === name && one.column === 'W_act')?.value;
    return [
      {
        machine: cluster,
        model: name,
        table,
        published: [value, gpu],
        found: foundUnits(clusterOf(cluster), model),
        isFitted: cluster === FITTED_MACHINE,
        boundaryBytes: activationBytes(model, createWorkload({ context: 192 }), ROOFLINE_RUNTIME),
        publishedBytes: typeof printed === 'number' ? printed * KIB : undefined,
      },
    ];
  });
}

/** Whether the search finds the printed split, and the bytes at the boundary are the printed ones. */
export function splitAgrees({ published, found, boundaryBytes, publishedBytes }: SplitCheck): boolean {
  const same = found?.[0] === published[0] && found[1] === published[1];
  return same && (publishedBytes === undefined || publishedBytes === boundaryBytes);
}

/** A row for every printed number of units of the tables, all-GPU plans among them; a simulation carries plans out. */
export function splitComparisons(
  cells: readonly PublishedCell[],
  clusterOf: ClusterOf,
  modelOf: ModelOf,
): Comparison[] {
  const rules = findPublished(cells, { system: 'helm', metric: 'split' }).flatMap((cell): Rule<undefined>[] => {
    const side = ['Plan CPU units', 'Plan GPU units'].indexOf(cell.column);
    if (side < 0) return [];
    return [
      {
        paper: 'helm',
        cell,
        policy: '',
        unit: 'units',
        published: cell.value,
        noise: undefined,
        use: cell.cluster === FITTED_MACHINE ? 'fit' : 'held-out',
        configuration: ['split', cell.cluster, cell.model].join('\n'),
        answer: () => ({
          predicted: foundUnits(clusterOf(cell.cluster), modelOf(cell.model))?.[side],
          simulated: undefined,
          target: 0,
          detail: undefined,
        }),
      },
    ];
  });
  return compare(rules, () => {});
}
