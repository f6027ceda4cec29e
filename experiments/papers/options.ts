import { type Command, Option } from 'commander';
import { InputError } from '../../engine/input/input-error.ts';
import { readCount, readList } from '../../engine/terminal/options.ts';
import { PRIMA_TABLES } from './prima/tables.ts';

/** Papers whose tables can be reproduced, by the name that the command line takes. */
export const PAPERS = { prima: 'prima-cpp', helm: 'helm', heterollm: 'heterollm' } as const;
/** `all`: every paper in one report. */
export type PaperName = keyof typeof PAPERS | 'all';
export const PAPER_NAMES: readonly PaperName[] = [...(Object.keys(PAPERS) as (keyof typeof PAPERS)[]), 'all'];

/**
 * Tokens of the prompt ("what is edge AI?": five words and signs, and the mark of the beginning), by the commands of
 * prima.cpp's own documentation (README of Lizonghang/prima.cpp); the paper doesn't state it.
 */
const DOCUMENTED_PROMPT = 6;

/** Decoded in simulation unless asked otherwise. */
const DECODED = 3;

/** What prima.cpp's tables are reproduced with. */
export interface PrimaOptions {
  readonly table: readonly string[];
  /** Tokens in the KV cache; a full one unless given. */
  readonly context?: number;
  /** Tokens that it has room for; what each program has (program.ts) unless given. */
  readonly reserved?: number;
  readonly prompt: number;
  readonly tokens: number;
}

/** The command line of reproduce, read. The options of prima.cpp's tables are undefined unless given. */
export interface ReproduceOptions extends Partial<PrimaOptions> {
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
  const count = (least: number, most?: number) => (flag: string, text: string) => readCount(flag, text, least, most);
  command
    .argument('<paper>', `whose tables: ${PAPER_NAMES.join(', ')}`)
    .addOption(option('--table <list>', `prima: tables, of ${NUMBERS.join(', ')} (default: all)`, readTables))
    .addOption(option('--context <tokens>', 'prima: tokens in the KV cache (default: a full one)', count(1)))
    .addOption(
      option(
        '--reserved <tokens>',
        'prima: tokens that it has room for (default: 1024 in llama.cpp, 256 in prima.cpp)',
        count(1),
      ),
    )
    .addOption(
      option('--prompt <tokens>', `prima: tokens of the prompt, for TTFT (default: ${DOCUMENTED_PROMPT})`, count(1)),
    )
    .addOption(
      option(
        '--tokens <n>',
        `prima: tokens to decode; the first is not counted (default: ${DECODED})`,
        count(2, 10_000),
      ),
    )
    .addOption(
      option('--seed <number>', 'recorded only: nothing here is random', (flag, text) =>
        readCount(flag, text, 0, 2 ** 32 - 1),
      ).default(0),
    )
    .option('--json', 'print cells.json instead of the summary', false)
    .option(
      '--out <dir>',
      'where report.html, cells.csv and cells.json go; results/reproduce-PAPER unless given; all: summary.md and errors.csv as well',
    );
}

/** What is given, and defaults. */
export function primaOptions({ table, context, reserved, prompt, tokens }: ReproduceOptions): PrimaOptions {
  return {
    table: table ?? NUMBERS,
    ...(context !== undefined && { context }),
    ...(reserved !== undefined && { reserved }),
    prompt: prompt ?? DOCUMENTED_PROMPT,
    tokens: tokens ?? DECODED,
  };
}

/** @throws InputError where an option is given that only prima.cpp's tables have */
export function refusePrimaOptions(options: ReproduceOptions, paper: PaperName): void {
  const names = ['table', 'context', 'reserved', 'prompt', 'tokens'] as const;
  const given = names.find((name) => options[name] !== undefined);
  if (given !== undefined) throw new InputError(`--${given}`, `is for prima's tables; leave it out for ${paper}`);
}

/** The nearest number would be no help, so the message has them all. @throws InputError */
function readTables(flag: string, text: string): string[] {
  const numbers = readList(flag, text);
  const unknown = numbers.find((number) => !NUMBERS.includes(number));
  if (unknown === undefined) return numbers;
  throw new InputError(flag, `"${unknown}" is not a table that is reproduced; allowed: ${NUMBERS.join(', ')}`);
}
