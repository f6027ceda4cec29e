import { existsSync, readFileSync } from 'node:fs';
import { answersOf } from '../../datasets/lab/answers.ts';
import type { LabCell } from '../../datasets/lab/cell.ts';
import { simulatedRange } from '../../datasets/lab/memory-range.ts';
import { parseRecorded, RECORDED_COLUMNS, type RecordedRun, recordedCase } from '../../datasets/lab/recorded.ts';
import { LAB_SHAPES, type LabSize } from '../../datasets/lab/shapes.ts';
import { InputError } from '../../engine/input/input-error.ts';
import { createModel, type Model } from '../../engine/model/model.ts';
import { tokenFigures } from '../../engine/trace/token-figures.ts';
import type { CellRun } from '../lab/cell-run.ts';
import type { ComparedCell } from '../lab/run-cells.ts';
import { toCsv } from '../report/csv.ts';

/** The CSV of measured plans, and the JSON of what was probed in the sessions in which they ran. */
export function recordedFiles(runs: readonly CellRun[]): Record<'recorded.csv' | 'recorded.json', string> {
  const sessions = [...new Set(runs.map(({ facts }) => JSON.stringify(facts)))];
  const rows = runs.map(({ facts, trace, room = [], diskRates, pinned }, plan) => {
    const { seconds, bytes, stall } = tokenFigures(trace);
    const session = sessions.indexOf(JSON.stringify(facts));
    const whole = (values: readonly number[]): string => values.map(Math.round).join(' ');
    const figures = [rounded(seconds), Math.round(bytes), rounded(stall)];
    return [plan, session, ...figures, whole(room), whole(diskRates), whole(pinned)];
  });
  return { 'recorded.csv': toCsv(RECORDED_COLUMNS, rows), 'recorded.json': `[\n${sessions.join(',\n')}\n]\n` };
}

const rounded = (seconds: number): number => Number(seconds.toFixed(4));

/** @param name of both files, without ending @throws InputError with file, row and column */
export function readRecorded(name: string): RecordedRun[] {
  const text = (ending: string): string => readFileSync(`${name}.${ending}`, 'utf8');
  return parseRecorded({ csv: text('csv'), json: text('json') }, name);
}

/** Recorded plans, and the model that they ran. */
export interface RecordedResults {
  readonly results: readonly ComparedCell[];
  readonly model: Model;
}

/**
 * Predicts and simulates recorded plans.
 * @param name of the files, without ending
 * @param cells the plans in the order in which they were recorded, or the first of them
 * @param tokens of a run
 * @param ranges whether to simulate with a little less and more memory too
 * @throws InputError without a record
 */
export function recordedResults(
  name: string,
  cells: readonly LabCell[],
  size: LabSize,
  tokens: number,
  ranges = false,
): RecordedResults {
  if (!existsSync(`${name}.csv`)) throw new InputError('--recorded', `${name}.csv doesn’t exist: nothing was recorded`);
  const model = createModel(LAB_SHAPES[size], 'F16');
  const runs = readRecorded(name).filter(({ plan }) => plan < cells.length);
  const results = runs.map((run): ComparedCell => {
    const cell = cells[run.plan] as LabCell;
    const result = resultOfRecorded(run, cell, model, tokens);
    return ranges ? { ...result, range: simulatedRange(recordedCase(run, cell, model, tokens)) } : result;
  });
  return { model, results };
}

/** Predicts and simulates a recorded plan. @param tokens of the run */
export function resultOfRecorded(run: RecordedRun, cell: LabCell, model: Model, tokens: number): ComparedCell {
  const { predicted, overlapped, simulated } = answersOf(recordedCase(run, cell, model, tokens));
  return { cell, measured: run.measured, predicted, overlapped, simulated };
}
