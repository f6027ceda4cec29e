import { type Command, Option } from 'commander';
import { InputError } from '../../engine/input/input-error.ts';
import { parseQuantity } from '../../engine/input/quantity.ts';
import { SCHEDULER_NAMES, type SchedulerName } from '../../engine/schedule/registry.ts';
import { readChoice, readCount, readList } from '../../engine/terminal/options.ts';
import type { MemoryTaken } from '../../simulator/options.ts';
import { SIMULATED_RECLAIMS, type SimulatedReclaim } from '../../simulator/options.ts';

/** The command line of replay, read. */
export interface ReplayOptions {
  readonly cluster: string;
  readonly model: string;
  readonly modelFile?: string;
  readonly plan?: string;
  readonly scheduler: SchedulerName;
  readonly reclaim: SimulatedReclaim;
  readonly prompt: number;
  readonly tokens: number;
  readonly show: number;
  readonly noise: number;
  readonly taken: Readonly<Record<string, readonly MemoryTaken[]>>;
  readonly seed: number;
  readonly json: boolean;
  readonly out: string;
}

/** Declares the options of replay. */
export function replayOptions(command: Command): void {
  const option = <T>(flags: string, description: string, read: (flag: string, text: string) => T): Option => {
    const flag = flags.split(' ')[0] as string;
    return new Option(flags, description).argParser((text: string) => read(flag, text));
  };
  const count = (flags: string, description: string, least: number, most: number): Option =>
    option(flags, description, (flag, text) => readCount(flag, text, least, most));
  command
    .option('--cluster <key>', 'a cluster of datasets/clusters, or a file', 'prima-home')
    .option('--model <name>', 'a model, with :mix if wanted', 'Llama-3-70B')
    .option('--model-file <file>', 'your own models (CSV, columns as datasets/models.csv)')
    .option('--plan <file>', 'the plan (JSON), as halda-sweep and replay write it, or by hand')
    .addOption(
      option('--scheduler <name>', `makes the plan unless one is given: ${SCHEDULER_NAMES.join(', ')}`, (flag, text) =>
        readChoice(flag, text, SCHEDULER_NAMES),
      ).default('ring-aware'),
    )
    .addOption(
      option('--reclaim <policy>', `how the OS reclaims: ${SIMULATED_RECLAIMS.join(', ')}`, (flag, text) =>
        readChoice(flag, text, SIMULATED_RECLAIMS),
      ).default('os'),
    )
    .addOption(count('--prompt <n>', 'tokens of the prompt', 1, 1e6).default(128))
    .addOption(count('--tokens <n>', 'tokens to decode', 1, 10_000).default(8))
    .addOption(count('--show <n>', 'tokens that the timeline shows, the last ones', 1, 100).default(2))
    .addOption(
      option('--noise <share>', 'relative deviation of the time of each computation, 0 to 1', readNoise).default(0),
    )
    .addOption(
      option('--taken <list>', 'memory that other apps take, e.g. "D3@10 s=2 GiB,D3@60 s=0 GiB"', readTaken).default(
        {},
        'none',
      ),
    )
    .addOption(count('--seed <n>', 'of noise, jitter and loss of links', 0, 2 ** 32 - 1).default(1))
    .option('--json', 'print replay.json instead of tables', false)
    .option('--out <dir>', 'where report, plan, results and the Perfetto trace go', 'results/replay');
}

function readNoise(flag: string, text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !(value >= 0 && value <= 1))
    throw new InputError(flag, `"${text}" is not a number from 0 to 1`);
  return value;
}

/** `device@time=size`, each value holding until the device's next. */
function readTaken(flag: string, text: string): Record<string, MemoryTaken[]> {
  const taken: Record<string, MemoryTaken[]> = {};
  for (const item of readList(flag, text)) {
    const [, device, time, size] = /^([^@=]+)@([^@=]+)=([^@=]+)$/.exec(item) ?? [];
    if (device === undefined || time === undefined || size === undefined)
      throw new InputError(flag, `"${item}" is not a device, a time and a size, such as "D3@10 s=2 GiB"`);
    const bytes = /^0\b/.test(size.trim()) ? 0 : parseQuantity(size, 'size', flag);
    taken[device] = [...(taken[device] ?? []), { time: parseTime(time, flag), bytes }];
  }
  return taken;
}

/** Simulated time has no bounds of hardware. */
function parseTime(text: string, flag: string): number {
  const seconds = Number(/^([\d.]+) ?s$/.exec(text.trim())?.[1]);
  if (!Number.isFinite(seconds)) throw new InputError(flag, `"${text}" is not a time in seconds, such as "10 s"`);
  return seconds;
}
