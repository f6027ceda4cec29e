import { findPublished, type PublishedCell } from '../../../datasets/published.ts';
import { activationBytes, ROOFLINE_RUNTIME } from '../../../engine/cost/roofline.ts';
import type { Cluster } from '../../../engine/hardware/cluster.ts';
import type { Model } from '../../../engine/model/model.ts';
import { createWorkload } from '../../../engine/model/workload.ts';
import { cpuGpuSplit } from '../../../engine/schedule/helm/cpu-gpu-split.ts';

/** A printed split beside the one that the search finds; units are blocks, embedding and output projection. */
export interface SplitCheck {
  readonly machine: string;
  readonly model: string;
  readonly table: string;
  readonly published: readonly [cpu: number, gpu: number];
  readonly found: readonly [cpu: number, gpu: number] | undefined;
  /** W_act: bytes that cross between CPU and GPU for a token (Eq. 4.4), here and as printed. */
  readonly boundaryBytes: number;
  readonly publishedBytes: number | undefined;
}

const KIB = 1024;

/** Every printed split with units on both sides; the search runs on the rates in the machine's file. */
export function splitChecks(
  cells: readonly PublishedCell[],
  clusterOf: (name: string) => Cluster,
  modelOf: (name: string) => Model,
): SplitCheck[] {
  const plans = findPublished(cells, { system: 'helm', metric: 'split' });
  return plans.flatMap((cell): SplitCheck[] => {
    const { cluster, model: name, table, row, column, value } = cell;
    if (column !== 'Plan CPU units' || row.startsWith('running example')) return [];
    const gpu = plans.find((one) => one.table === table && one.row === row && one.column === 'Plan GPU units')?.value;
    if (typeof value !== 'number' || typeof gpu !== 'number') return [];
    const model = modelOf(name);
    const workload = createWorkload({ context: 192 });
    const { best } = cpuGpuSplit({ belief: clusterOf(cluster), model, workload });
    const printed = cells.find((one) => one.model === name && one.column === 'W_act')?.value;
    return [
      {
        machine: cluster,
        model: name,
        table,
        published: [value, gpu],
        found: best && [best.cpuUnits, best.gpuUnits],
        boundaryBytes: activationBytes(model, workload, ROOFLINE_RUNTIME),
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
