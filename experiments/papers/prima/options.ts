import { InputError } from '../../../engine/input/input-error.ts';
import { readChoice, readCount, readList } from '../../../engine/terminal/options.ts';
import { type OptionValues, option } from '../../report/options.ts';
import { PRIMA_TABLES } from './tables.ts';

/**
 * Tokens of the prompt ("what is edge AI?": five words and signs, and the mark of the beginning), by the commands of
 * prima.cpp's own documentation (README of Lizonghang/prima.cpp); the paper doesn't state it.
 */
const DOCUMENTED_PROMPT = 6;

/**
 * Before the prompt llama.cpp and prima.cpp decode a token without effect (`--no-warmup` is off by default), which reads
 * all weights; `none`: the page cache is cold.
 */
const WARM = ['run', 'none'] as const;
export type Warm = (typeof WARM)[number];

/** Decoded in simulation unless asked otherwise. */
const DECODED = 3;

/** The settings of the reproduction of prima.cpp's tables. */
export interface PrimaOptions {
  readonly table: readonly string[];
  /** Tokens in the KV cache; a full one unless given. */
  readonly context?: number;
  /** Capacity of the KV cache, tokens; each program's own (program.ts) unless given. */
  readonly reserved?: number;
  readonly prompt: number;
  /** Run before the prompt: the programs' own warm-up, or none. */
  readonly warm: Warm;
  readonly tokens: number;
}

const NUMBERS = PRIMA_TABLES.map(({ number }) => number);

const count =
  (least: number, most?: number) =>
  (flag: string, text: string): number =>
    readCount(flag, text, least, most);

/** The options on the command line; undefined unless given. */
export const PRIMA_OPTION_SPECS = {
  table: option('--table <list>', `prima: tables, of ${NUMBERS.join(', ')} (default: all)`, readTables),
  context: option('--context <tokens>', 'prima: tokens in the KV cache (default: a full one)', count(1)),
  reserved: option('--reserved <tokens>', 'prima: tokens that it has room for (default: 1024)', count(1)),
  prompt: option(
    '--prompt <tokens>',
    `prima: tokens of the prompt, for TTFT (default: ${DOCUMENTED_PROMPT})`,
    count(1),
  ),
  warm: option(
    '--warm <by>',
    `prima: what warms the page cache before the prompt: ${WARM.join(', ')} (default: run, as llama.cpp does)`,
    (flag, text): Warm => readChoice(flag, text, WARM),
  ),
  tokens: option(
    '--tokens <n>',
    `prima: tokens to decode; the first is not counted (default: ${DECODED})`,
    count(2, 10_000),
  ),
} as const;

/** The options that were given. */
export type GivenPrimaOptions = Partial<OptionValues<typeof PRIMA_OPTION_SPECS>>;

/** The given options, with defaults for the rest. */
export function primaOptions({ table, context, reserved, prompt, warm, tokens }: GivenPrimaOptions): PrimaOptions {
  return {
    table: table ?? NUMBERS,
    ...(context !== undefined && { context }),
    ...(reserved !== undefined && { reserved }),
    prompt: prompt ?? DOCUMENTED_PROMPT,
    warm: warm ?? 'run',
    tokens: tokens ?? DECODED,
  };
}

/** @throws InputError where an option is given that only prima.cpp's tables have */
export function refusePrimaOptions(options: GivenPrimaOptions, paper: string): void {
  const names = Object.keys(PRIMA_OPTION_SPECS) as (keyof GivenPrimaOptions)[];
  const given = names.find((name) => options[name] !== undefined);
  if (given !== undefined) throw new InputError(`--${given}`, `is for prima’s tables; leave it out for ${paper}`);
}

/** The nearest number would not help, so the message lists all. @throws InputError */
function readTables(flag: string, text: string): string[] {
  const numbers = readList(flag, text);
  const unknown = numbers.find((number) => !NUMBERS.includes(number));
  if (unknown === undefined) return numbers;
  throw new InputError(flag, `"${unknown}" is not a table that is reproduced; allowed: ${NUMBERS.join(', ')}`);
}
