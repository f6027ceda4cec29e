import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { readCount } from '../../engine/terminal/options.ts';
import { checkOutput } from '../lib/write.ts';
import { LEAST_TOKENS, NOT_COUNTED } from './token-figures.ts';

/** What every experiment on a lab takes. */
export interface LabOptions {
  readonly models: string;
  readonly tokens: string;
  readonly seed: string;
  readonly json?: true;
  readonly out: string;
}

/** What differs: where files go unless told, which, and how many tokens a run has unless told. */
export interface LabDefaults {
  readonly out: string;
  readonly files: string;
  readonly tokens: string;
}

const MOST_TOKENS = 1000;

export function addLabOptions(command: Command, { out, files, tokens }: LabDefaults): Command {
  return command
    .option('--models <dir>', 'where random models are made and kept; on the disk that is throttled', DEFAULT_MODELS)
    .option('--tokens <n>', `of each run, ${NOT_COUNTED}`, tokens)
    .option('--seed <n>', 'of the random weights', '1')
    .option('--json', 'print the results as JSON')
    .option('--out <dir>', `where ${files} go`, out);
}

const DEFAULT_MODELS = join(tmpdir(), 'hearth-models');

/** @throws InputError for numbers that are none, and where results can't be written */
export function readLabOptions({ tokens, seed, out }: LabOptions): { readonly tokens: number; readonly seed: number } {
  checkOutput(out);
  return {
    tokens: readCount('--tokens', tokens, LEAST_TOKENS, MOST_TOKENS),
    seed: readCount('--seed', seed, 0, 2 ** 32 - 1),
  };
}
