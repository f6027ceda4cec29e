import { createNamedModel, loadCatalogue, loadClusterFile } from '../../datasets/load.ts';
import type { Statement } from '../../datasets/statements.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import type { ProcessorKind } from '../../engine/hardware/device.ts';
import { InputError } from '../../engine/input/input-error.ts';
import type { Model } from '../../engine/model/model.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import { divisors } from '../../engine/schedule/scheduler.ts';
import type { Reclaim } from '../rounds/rounds.ts';
import type { PolicyName } from './policies.ts';
import type { GpuLevels } from './splits.ts';
import { createSweeper, type Sweeper, type SweepSetting } from './sweeper.ts';

/** The options of partition-sweep that say which plans are simulated, and how. */
export interface PartitionOptions {
  readonly cluster: string;
  readonly model: string;
  readonly context: number;
  readonly reclaim: Reclaim;
  readonly mostRounds: number;
  readonly step: number;
  readonly gpuLevels: GpuLevels;
  /** By default all processors of the head. */
  readonly outputs: readonly ProcessorKind[] | undefined;
  readonly policies: readonly PolicyName[];
}

/** The inputs of a sweep. */
export interface PartitionInputs {
  readonly cluster: Cluster;
  readonly statements: readonly Statement[];
  readonly model: Model;
  readonly setting: SweepSetting;
  readonly sweeper: Sweeper;
}

/** @throws InputError for an unknown cluster or model, a processor that the head lacks, or a space that is too large */
export function readInputs(options: PartitionOptions): PartitionInputs {
  const { reclaim, step, gpuLevels, policies } = options;
  const { cluster, statements } = loadClusterFile(options.cluster);
  const model = createNamedModel(loadCatalogue(), options.model, '--model');
  const { link: _, ...parts } = cluster;
  const setting: SweepSetting = {
    cluster: parts,
    model,
    workload: createWorkload({ context: options.context }),
    reclaim,
    rounds: divisors(model.layers).filter((k) => k <= options.mostRounds),
    step,
    gpuLevels,
    outputs: outputsOf(cluster, options.outputs),
    policies,
  };
  return { cluster, statements, model, setting, sweeper: createSweeper(setting) };
}

/** Processors for the output layer. @throws InputError if the head has no GPU that was asked for */
function outputsOf(
  { devices: [head] }: Cluster,
  outputs: readonly ProcessorKind[] | undefined,
): readonly ProcessorKind[] {
  const there: readonly ProcessorKind[] = head?.gpu === undefined ? ['cpu'] : ['cpu', 'gpu'];
  const missing = outputs?.find((processor) => !there.includes(processor));
  if (missing !== undefined) throw new InputError('--outputs', `the head ${head?.name} has no ${missing}; use cpu`);
  return outputs ?? there;
}
