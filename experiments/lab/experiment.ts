import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LabCell } from '../../datasets/lab/cell.ts';
import { LAB_SHAPES, LAB_SIZES, type LabSize } from '../../datasets/lab/shapes.ts';
import { loadClusterFile } from '../../datasets/load.ts';
import { createModel } from '../../engine/model/model.ts';
import { LEAST_TOKENS, NOT_COUNTED } from '../../engine/trace/token-figures.ts';
import type { CommonOptions, Frame } from '../report/experiment.ts';
import { count, text } from '../report/options.ts';
import type { CellRun } from './cell-run.ts';
import type { LabDescription } from './report.ts';
import { type CellResult, resultOfRun, runCells } from './run-cells.ts';
import { NOT_SAVED, openSavedCells } from './saved-cells.ts';
import { onLab } from './session.ts';

const MOST_TOKENS = 1000;

/** Options of every experiment on a lab. @param tokens default tokens of a run */
export const labOptions = (tokens: number) => ({
  models: text(
    '--models <dir>',
    'where random models are made and kept; on the disk that is throttled',
    join(tmpdir(), 'hearth-models'),
  ),
  tokens: count('--tokens <n>', `of each run, ${NOT_COUNTED}`, {
    default: tokens,
    least: LEAST_TOKENS,
    most: MOST_TOKENS,
  }),
});

/** Option of the experiments that may be run in pieces. */
export const savedOption = {
  saved: text(
    '--saved <dir>',
    'measured cells are kept there and not measured again, so that a run may be interrupted',
  ),
};

/** The seed of a lab's experiments. */
export const LAB_SEED = { help: 'of the random weights' } as const;

/** Help of `--size`. */
export const SIZE_HELP = `of the model: ${LAB_SIZES.join(', ')} (0.6, 2.2, 4.3 GB)`;

/** The cluster of the experiments with four equal devices. */
export const FOUR_DEVICES = 'four-small';

export interface MeasureOptions extends Pick<CommonOptions, 'seed'> {
  readonly models: string;
  readonly tokens: number;
  readonly size: LabSize;
  /** Folder of cells that were measured earlier, and where those measured now are kept. */
  readonly saved?: string | undefined;
}

/** Cells that were run, and the lab that the last of them ran on. */
export interface MeasuredCells extends LabDescription {
  readonly results: readonly CellResult[];
  /** As measured, in the same order. */
  readonly runs: readonly CellRun[];
}

/**
 * Measures cells on a lab of four devices, except those that were saved, and predicts and simulates all of them. A lab
 * is opened only if a cell remains to be measured.
 * @throws InputError that says what this machine lacks for a lab
 */
export async function measureCells(
  options: MeasureOptions,
  cells: readonly LabCell[],
  { progress }: Frame,
): Promise<MeasuredCells> {
  const { models, size, seed, tokens } = options;
  const { cluster } = loadClusterFile(FOUR_DEVICES);
  const setting = { model: LAB_SHAPES[size].name, tokens, seed };
  const saved = options.saved === undefined ? NOT_SAVED : openSavedCells(options.saved, setting);
  const known = new Map(cells.map((cell) => [cell, saved.find(cell)]));
  const missing = cells.filter((cell) => known.get(cell) === undefined);
  const bar = progress(missing.length);
  if (missing.length > 0) {
    await onLab({ cluster, models, size, seed }, async (session) => {
      const runs = await runCells(session, missing, { tokens, saved, onCell: (name) => bar.step(name) });
      for (const run of runs) known.set(run.cell, run);
    });
  }
  const runs = cells.map((cell) => known.get(cell) as CellRun);
  const { facts, profile } = runs.at(-1) as CellRun;
  const model = createModel(LAB_SHAPES[size], 'F16');
  return { model, facts, profile, runs, results: runs.map((run) => resultOfRun(run, model, tokens)) };
}
