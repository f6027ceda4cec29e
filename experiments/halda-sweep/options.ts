import { type Command, Option } from 'commander';
import { RECLAIM_POLICIES, type ReclaimPolicy } from '../../engine/cost/reclaim.ts';
import { SCHEDULER_NAMES, SCHEDULERS, type SchedulerName } from '../../engine/schedule/registry.ts';
import { readChoice, readChoices, readCount, readList } from '../../engine/terminal/options.ts';

/** The command line of halda-sweep, read. */
export interface SweepOptions {
  readonly cluster: readonly string[];
  readonly belief?: string;
  readonly models?: readonly string[];
  readonly modelFile?: string;
  readonly schedulers: readonly SchedulerName[];
  readonly context: number;
  readonly reclaim: ReclaimPolicy;
  readonly devices?: readonly string[];
  /** undefined: for clusters that are small enough. */
  readonly subsets?: boolean;
  readonly plan?: string;
  readonly json: boolean;
  readonly out: string;
  readonly trace: boolean;
  readonly seed: number;
}

/** Devices of a cluster up to which subsets are tried without being asked for: 2⁵ of them with the head. */
export const SUBSETS_BY_DEFAULT = 6;

const SCHEDULER_HELP = SCHEDULER_NAMES.map((name) => `  ${name.padEnd(16)}${SCHEDULERS[name].description}`).join('\n');

/** Declares the options of halda-sweep. */
export function sweepOptions(command: Command): void {
  const option = <T>(flags: string, description: string, read: (flag: string, text: string) => T): Option => {
    const flag = flags.split(' ')[0] as string;
    return new Option(flags, description).argParser((text: string) => read(flag, text));
  };
  command
    .addOption(
      option('--cluster <list>', 'clusters: keys of datasets/clusters, or files', readList).default(
        ['prima-home'],
        'prima-home',
      ),
    )
    .option('--belief <cluster>', 'the cluster that the schedulers see (default: the true one)')
    .addOption(
      option('--models <list>', 'models by name, with :mix if wanted; `llama` or `all` (default: llama)', readList),
    )
    .option('--model-file <file>', 'your own models (CSV, columns as datasets/models.csv; default: all of them)')
    .addOption(
      option('--schedulers <list>', 'schedulers, see below', (flag, text) =>
        readChoices(flag, text, SCHEDULER_NAMES),
      ).default(SCHEDULER_NAMES, 'all'),
    )
    .addOption(
      option('--context <tokens>', 'tokens in the KV cache', (flag, text) => readCount(flag, text, 0)).default(1024),
    )
    .addOption(
      option('--reclaim <policy>', `how the OS reclaims weights: ${RECLAIM_POLICIES.join(', ')}`, (flag, text) =>
        readChoice(flag, text, RECLAIM_POLICIES),
      ).default('overflow'),
    )
    .addOption(option('--devices <list>', 'only these devices; the first in ring order is the head', readList))
    .option('--subsets', `try every set of devices with the head (default: clusters of at most ${SUBSETS_BY_DEFAULT})`)
    .option('--no-subsets', 'do not')
    .option('--plan <file>', 'judge a plan from a file, too (JSON; on models with as many layers)')
    .option('--json', 'print results.json instead of tables', false)
    .option('--out <dir>', 'where the report and the results go', 'results/halda-sweep')
    .option('--trace', 'write every predicted token as a Perfetto trace', false)
    .addOption(
      option('--seed <number>', 'recorded only: this sweep draws no random numbers', (flag, text) =>
        readCount(flag, text, 0, 2 ** 32 - 1),
      ).default(0),
    )
    .addHelpText(
      'after',
      `\nSchedulers:\n${SCHEDULER_HELP}\n\nExample:\n  tsx experiments/halda-sweep.ts --cluster prima-home-6 --models Llama-3-70B --schedulers halda,optimal`,
    );
}
