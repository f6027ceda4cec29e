import { createHash } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeOutputFolder } from '../../commands/output-file.ts';
import type { LabCell } from '../../datasets/lab/cell.ts';
import { temporaryPath } from '../../engine/files/temporary-file.ts';
import { InputError } from '../../engine/input/input-error.ts';
import type { CellRun } from './cell-run.ts';

/** Cells that were measured earlier, in a folder of files, so that an experiment can be run in pieces. */
export interface SavedCells {
  find(cell: LabCell): CellRun | undefined;
  save(run: CellRun): void;
}

/** Settings other than its cell that a measurement depends on. */
export interface SavedSetting {
  readonly model: string;
  readonly tokens: number;
  /** Seed of the model's weights. */
  readonly seed: number;
}

/** Saves nothing. */
export const NOT_SAVED: SavedCells = { find: () => undefined, save: () => {} };

/** One file for every cell and setting, named after both. @param folder made unless it exists */
export function openSavedCells(folder: string, setting: SavedSetting): SavedCells {
  makeOutputFolder('--saved', folder);
  const fileOf = (cell: LabCell): string => {
    const { model, tokens, seed } = setting;
    const { rounds, windows, policy, memoryShares, diskRates } = cell;
    const key = JSON.stringify([model, tokens, seed, rounds, windows, policy, memoryShares, diskRates]);
    return join(folder, `${createHash('sha256').update(key).digest('hex').slice(0, 16)}.json`);
  };
  return {
    find: (cell) => {
      const file = fileOf(cell);
      if (!existsSync(file)) return undefined;
      try {
        return JSON.parse(readFileSync(file, 'utf8')) as CellRun;
      } catch (error) {
        throw new InputError(file, `not a saved cell (${(error as Error).message}); remove it to measure it again`);
      }
    },
    save: (run) => {
      const file = fileOf(run.cell);
      const beside = temporaryPath(file);
      writeFileSync(beside, JSON.stringify(run));
      renameSync(beside, file);
    },
  };
}
