import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadClusterFile } from '../../datasets/load.ts';
import type { CommonOptions, Frame } from '../report/experiment.ts';
import { count, text } from '../report/options.ts';
import type { LabCell } from './cell.ts';
import { LAB_SIZES, type LabSize } from './model.ts';
import type { LabDescription } from './report.ts';
import { type CellResult, runCells } from './run-cells.ts';
import { onLab } from './session.ts';
import { LEAST_TOKENS, NOT_COUNTED } from './token-figures.ts';

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
}

/** Cells that were run, and the lab that they ran on. */
export interface MeasuredCells extends LabDescription {
  readonly results: readonly CellResult[];
}

/** Opens a lab of four devices, runs the cells and closes it. @throws InputError that says what this machine lacks */
export async function measureCells(
  { models, size, seed, tokens }: MeasureOptions,
  cells: readonly LabCell[],
  { progress }: Frame,
): Promise<MeasuredCells> {
  const { cluster } = loadClusterFile(FOUR_DEVICES);
  const bar = progress(cells.length);
  return onLab({ cluster, models, size, seed }, async (session) => {
    const { model, facts, profile } = session;
    const results = await runCells(session, cells, tokens, (name) => bar.step(name));
    return { model, facts, profile, results };
  });
}
