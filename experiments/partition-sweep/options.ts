import { availableParallelism } from 'node:os';
import { type Command, Option } from 'commander';
import type { ProcessorKind } from '../../engine/hardware/device.ts';
import { SCHEDULER_NAMES, type SchedulerName } from '../../engine/schedule/registry.ts';
import { readChoice, readChoices, readCount } from '../../engine/terminal/options.ts';
import { RECLAIMS, type Reclaim } from '../rounds/rounds.ts';
import type { GpuLevels } from './gpu-choices.ts';
import { POLICIES, type PolicyName } from './policies.ts';

/** The command line of partition-sweep, read. */
export interface PartitionOptions {
  readonly cluster: string;
  readonly model: string;
  readonly context: number;
  readonly reclaim: Reclaim;
  readonly mostRounds: number;
  readonly step: number;
  readonly gpuLevels: GpuLevels;
  /** undefined: all that the head has. */
  readonly outputs?: readonly ProcessorKind[];
  readonly policies: readonly PolicyName[];
  readonly mostPlans: number;
  readonly seed: number;
  readonly schedulers: readonly SchedulerName[];
  readonly workers: number;
  readonly restart: boolean;
  readonly json: boolean;
  readonly out: string;
}

/** Those that plan rings; milp only confirms optimal. */
const DEFAULT_SCHEDULERS: readonly SchedulerName[] = [
  'halda',
  'halda-repaired',
  'optimal',
  'ring-aware',
  'memory-ratio',
  'compute-ratio',
  'single-device',
];

/** Declares the options of partition-sweep. */
export function partitionOptions(command: Command): void {
  const option = <T>(flags: string, description: string, read: (flag: string, text: string) => T): Option => {
    const flag = flags.split(' ')[0] as string;
    return new Option(flags, description).argParser((text: string) => read(flag, text));
  };
  const count = (flags: string, description: string, least: number, most: number): Option =>
    option(flags, description, (flag, text) => readCount(flag, text, least, most));
  command
    .option('--cluster <key>', 'a cluster of datasets/clusters, or a file', 'prima-home')
    .option('--model <name>', 'a model by name, with :mix if wanted', 'Llama-3-70B')
    .addOption(count('--context <n>', 'tokens in the KV cache', 0, 1e7).default(1024))
    .addOption(
      option('--reclaim <policy>', `how the OS reclaims: ${RECLAIMS.join(', ')}`, (flag, text) =>
        readChoice(flag, text, RECLAIMS),
      ).default('os'),
    )
    .addOption(count('--most-rounds <k>', 'largest number of rounds; all that divide the layers', 1, 1000).default(8))
    .addOption(
      count('--step <layers>', "grid of the devices' shares, in layers of the model over all rounds", 1, 1000).default(
        4,
      ),
    )
    .addOption(
      option(
        '--gpu-levels <n>',
        'GPU layers per window: 1 as many as fit, n from none to those, or all',
        (flag, text) => (text === 'all' ? 'all' : readCount(flag, text, 1, 1000)),
      ).default(1),
    )
    .addOption(
      option(
        '--outputs <list>',
        'of cpu, gpu: where the head runs the output layer (default: all it has)',
        (flag, text) => readChoices(flag, text, ['cpu', 'gpu'] as const),
      ),
    )
    .addOption(
      option('--policies <list>', `of ${POLICIES.join(', ')}`, (flag, text) =>
        readChoices(flag, text, POLICIES),
      ).default(POLICIES, 'all'),
    )
    .addOption(count('--most-plans <n>', 'a larger space is sampled at random', 1, 1e7).default(100_000))
    .addOption(count('--seed <n>', 'of the sample', 0, 1e9).default(1))
    .addOption(
      option('--schedulers <list>', `of ${SCHEDULER_NAMES.join(', ')}`, (flag, text) =>
        readChoices(flag, text, SCHEDULER_NAMES),
      ).default(DEFAULT_SCHEDULERS, DEFAULT_SCHEDULERS.join(',')),
    )
    .addOption(count('--workers <n>', 'threads', 1, 256).default(availableParallelism(), 'one per core'))
    .option('--restart', 'forget what an earlier sweep left in --out', false)
    .option('--json', 'print summary.json instead of tables', false)
    .option('--out <dir>', 'where points.jsonl, points.csv, summary.json and report.html go', 'results/partition-sweep')
    .addHelpText(
      'after',
      '\nA sweep that was stopped goes on where it was when it is started again with the same options.\n\nExample:\n  tsx experiments/partition-sweep.ts --model Llama-3-8B --step 2 --policies none,populate',
    );
}
