import { existsSync, readFileSync } from 'node:fs';
import { InputError } from '../../engine/input/input-error.ts';
import { type CsvRow, parseCsv } from '../../engine/input/parse-csv.ts';
import { createModel, type Model } from '../../engine/model/model.ts';
import { type TokenFigures, tokenFigures } from '../../engine/trace/token-figures.ts';
import { answersOf } from '../lab/answers.ts';
import type { LabCell } from '../lab/cell.ts';
import type { CellRun } from '../lab/cell-run.ts';
import type { LabFacts } from '../lab/facts.ts';
import { LAB_SHAPES, type LabSize } from '../lab/model.ts';
import type { ComparedCell } from '../lab/run-cells.ts';
import { toCsv } from '../report/csv.ts';

/**
 * Measured plans on file (datasets/measured): what a lab measured of each, and what its simulation needs to know. With
 * them the simulator is compared with measurements where no lab can be set up.
 */

const COLUMNS = ['plan', 'session', 'token_s', 'read_bytes', 'stall_s', 'room_bytes', 'disk_bytes_per_s'] as const;

/** The devices of the lab on which recorded plans ran. */
const DEVICES = ['one', 'two', 'three', 'four'];

/** A measured plan. */
export interface RecordedRun {
  /** Its place in the list of plans that the experiment makes. */
  readonly plan: number;
  readonly measured: TokenFigures;
  /** See CellRun. */
  readonly room: readonly number[];
  readonly diskRates: readonly number[];
  readonly facts: LabFacts;
}

/** The CSV of measured plans, and the JSON of what was probed in the sessions in which they ran. */
export function recordedFiles(runs: readonly CellRun[]): Record<'recorded.csv' | 'recorded.json', string> {
  const sessions = [...new Set(runs.map(({ facts }) => JSON.stringify(facts)))];
  const rows = runs.map(({ facts, trace, room = [], diskRates }, plan) => {
    const { seconds, bytes, stall } = tokenFigures(trace);
    const session = sessions.indexOf(JSON.stringify(facts));
    const whole = (values: readonly number[]): string => values.map(Math.round).join(' ');
    return [plan, session, rounded(seconds), Math.round(bytes), rounded(stall), whole(room), whole(diskRates)];
  });
  return { 'recorded.csv': toCsv(COLUMNS, rows), 'recorded.json': `[\n${sessions.join(',\n')}\n]\n` };
}

const rounded = (seconds: number): number => Number(seconds.toFixed(4));

/** @param name of both files, without ending @throws InputError with file, row and column */
export function readRecorded(name: string): RecordedRun[] {
  const file = `${name}.csv`;
  const sessions = JSON.parse(readFileSync(`${name}.json`, 'utf8')) as readonly LabFacts[];
  return parseCsv(readFileSync(file, 'utf8'), file, COLUMNS).map((row): RecordedRun => {
    const facts = sessions[numberOf(row, 'session')];
    if (facts === undefined) throw new InputError(row.where('session'), `${name}.json has no such session`);
    const numbers = (column: 'room_bytes' | 'disk_bytes_per_s'): number[] => row.cell(column).split(' ').map(Number);
    return {
      plan: numberOf(row, 'plan'),
      measured: {
        seconds: numberOf(row, 'token_s'),
        bytes: numberOf(row, 'read_bytes'),
        stall: numberOf(row, 'stall_s'),
      },
      room: numbers('room_bytes'),
      diskRates: numbers('disk_bytes_per_s'),
      facts,
    };
  });
}

function numberOf(row: CsvRow<(typeof COLUMNS)[number]>, column: (typeof COLUMNS)[number]): number {
  const value = Number(row.cell(column));
  if (row.cell(column) !== '' && value >= 0) return value;
  throw new InputError(row.where(column), `"${row.cell(column)}" is not a number`);
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
 * @throws InputError without a record
 */
export function recordedResults(
  name: string,
  cells: readonly LabCell[],
  size: LabSize,
  tokens: number,
): RecordedResults {
  if (!existsSync(`${name}.csv`)) throw new InputError('--recorded', `${name}.csv doesn't exist: nothing was recorded`);
  const model = createModel(LAB_SHAPES[size], 'F16');
  const runs = readRecorded(name).filter(({ plan }) => plan < cells.length);
  return { model, results: runs.map((run) => resultOfRecorded(run, cells[run.plan] as LabCell, model, tokens)) };
}

/** Predicts and simulates a recorded plan. @param tokens of the run */
export function resultOfRecorded(run: RecordedRun, cell: LabCell, model: Model, tokens: number): ComparedCell {
  const { facts, measured, room, diskRates } = run;
  const { predicted, overlapped, simulated } = answersOf({
    ...{ facts, model, devices: DEVICES, cell, diskRates, room, tokens },
  });
  return { cell, measured, predicted, overlapped, simulated };
}
