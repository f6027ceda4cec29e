import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';

/** What every experiment on a lab takes. */
export interface LabOptions {
  readonly models: string;
  readonly seed: string;
  readonly json?: true;
  readonly out: string;
}

export function addLabOptions(command: Command, out: string, files: string): Command {
  return command
    .option('--models <dir>', 'where random models are made and kept; on the disk that is throttled', DEFAULT_MODELS)
    .option('--seed <n>', 'of the random weights', '1')
    .option('--json', 'print the results as JSON')
    .option('--out <dir>', `where ${files} go`, out);
}

const DEFAULT_MODELS = join(tmpdir(), 'hearth-models');
