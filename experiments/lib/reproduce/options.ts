import { type Command, Option } from 'commander';
import { InputError } from '../../../engine/input/input-error.ts';
import { readCount, readList } from '../../../engine/terminal/options.ts';
import { PRIMA_TABLES } from './tables.ts';

/** Papers whose tables can be reproduced, by the name that the command line takes. */
export const PAPERS = { prima: 'prima-cpp', heterollm: 'heterollm' } as const;
export type PaperName = keyof typeof PAPERS;
export const PAPER_NAMES = Object.keys(PAPERS) as PaperName[];

/**
 * Tokens that the KV cache has room for (`-c 1024`) and the prompt's ("what is edge AI?": five words and signs, and the
 * mark of the beginning), by the commands of prima.cpp's own documentation (README of Lizonghang/prima.cpp); the paper
 * states neither. It doesn't state how full the cache was either: full, unless asked otherwise.
 */
const DOCUMENTED = { reserved: 1024, prompt: 6 } as const;

/** The command line of reproduce, read. */
export interface ReproduceOptions {
  readonly table: readonly string[];
  /** Undefined: a full cache. */
  readonly context?: number;
  readonly reserved: number;
  readonly prompt: number;
  readonly tokens: number;
  readonly seed: number;
  readonly json: boolean;
  /** `results/reproduce-PAPER` unless given. */
  readonly out?: string;
}

const NUMBERS = PRIMA_TABLES.map(({ number }) => number);

export function reproduceOptions(command: Command): void {
  const option = <T>(flags: string, description: string, read: (flag: string, text: string) => T): Option => {
    const flag = flags.split(' ')[0] as string;
    return new Option(flags, description).argParser((text: string) => read(flag, text));
  };
  command
    .argument('<paper>', `whose tables: ${PAPER_NAMES.join(', ')}`)
    .addOption(option('--table <list>', `tables: ${NUMBERS.join(', ')}`, readTables).default(NUMBERS, 'all'))
    .addOption(
      option('--context <tokens>', 'tokens in the KV cache that a token reads (default: a full one)', (flag, text) =>
        readCount(flag, text, 1),
      ),
    )
    .addOption(
      option('--reserved <tokens>', 'tokens that the KV cache takes memory for', (flag, text) =>
        readCount(flag, text, 1),
      ).default(DOCUMENTED.reserved),
    )
    .addOption(
      option('--prompt <tokens>', 'tokens of the prompt (TTFT)', (flag, text) => readCount(flag, text, 1)).default(
        DOCUMENTED.prompt,
      ),
    )
    .addOption(
      option('--tokens <n>', 'tokens to decode, at least 2; the first is not counted', (flag, text) =>
        readCount(flag, text, 2, 10_000),
      ).default(3),
    )
    .addOption(
      option('--seed <number>', 'recorded only: nothing here is random', (flag, text) =>
        readCount(flag, text, 0, 2 ** 32 - 1),
      ).default(0),
    )
    .option('--json', 'print cells.json instead of the summary', false)
    .option('--out <dir>', 'where report.html, cells.csv and cells.json go; results/reproduce-PAPER unless given');
}

/** The nearest number would be no help, so the message has them all. @throws InputError */
function readTables(flag: string, text: string): string[] {
  const numbers = readList(flag, text);
  const unknown = numbers.find((number) => !NUMBERS.includes(number));
  if (unknown === undefined) return numbers;
  throw new InputError(flag, `"${unknown}" is not a table that is reproduced; allowed: ${NUMBERS.join(', ')}`);
}
