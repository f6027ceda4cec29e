import { type Command, Option } from 'commander';
import { readCount, readList } from '../../engine/terminal/options.ts';

/** The command line of helm-split, read. */
export interface HelmOptions {
  readonly machines: readonly string[];
  readonly models: readonly string[];
  readonly context: number;
  readonly json: boolean;
  readonly out: string;
  readonly seed: number;
}

/** Declares the options of helm-split. */
export function helmOptions(command: Command): void {
  const machines = ['helm-4060', 'helm-3090', 'helm-l40s'];
  const models = ['Qwen3-4B', 'Qwen3-8B', 'Qwen3-14B', 'Qwen3-32B'];
  command
    .addOption(
      new Option('--machines <list>', 'clusters whose head is split: keys of datasets/clusters, or files')
        .argParser((text: string) => readList('--machines', text))
        .default(machines, machines.join(',')),
    )
    .addOption(
      new Option('--models <list>', 'models by name, with :mix if wanted')
        .argParser((text: string) => readList('--models', text))
        .default(models, models.join(',')),
    )
    .addOption(
      new Option('--context <tokens>', 'tokens in the KV cache; 192 is the middle of 128 tokens after a prompt of 128')
        .argParser((text: string) => readCount('--context', text, 0))
        .default(192),
    )
    .option('--json', 'print results.json instead of tables', false)
    .option('--out <dir>', 'where the report and the results go', 'results/helm-split')
    .addOption(
      new Option('--seed <number>', 'recorded only: this experiment draws no random numbers')
        .argParser((text: string) => readCount('--seed', text, 0, 2 ** 32 - 1))
        .default(0),
    )
    .addHelpText('after', '\nExample:\n  tsx experiments/helm-split.ts --machines helm-4060 --models Qwen3-8B');
}
