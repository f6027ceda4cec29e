import { InputError } from '../../engine/input/input-error.ts';
import { type CsvRow, parseCsv } from '../../engine/input/parse-csv.ts';
import type { Model } from '../../engine/model/model.ts';
import type { TokenFigures } from '../../engine/trace/token-figures.ts';
import type { AnswersCase } from './answers.ts';
import type { LabCell } from './cell.ts';
import type { LabFacts } from './facts.ts';

/**
 * Measured plans on file (datasets/measured): what a lab measured of each, and what its simulation needs to know. With
 * them the simulator is compared with measurements where no lab can be set up.
 */

export const RECORDED_COLUMNS = [
  'plan',
  'session',
  'token_s',
  'read_bytes',
  'stall_s',
  'room_bytes',
  'disk_bytes_per_s',
  'pinned_bytes',
] as const;

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
  /** Bytes that each device pinned. */
  readonly pinned: readonly number[];
  readonly facts: LabFacts;
}

/**
 * Reads measured plans.
 * @param texts of the CSV, and of the JSON of what was probed in the sessions in which the plans ran
 * @param name of both files, without ending, for messages
 * @throws InputError with file, row and column
 */
export function parseRecorded(texts: { readonly csv: string; readonly json: string }, name: string): RecordedRun[] {
  const sessions = JSON.parse(texts.json) as readonly LabFacts[];
  return parseCsv(texts.csv, `${name}.csv`, RECORDED_COLUMNS).map((row): RecordedRun => {
    const facts = sessions[numberOf(row, 'session')];
    if (facts === undefined) throw new InputError(row.where('session'), `${name}.json has no such session`);
    const numbers = (column: 'room_bytes' | 'disk_bytes_per_s' | 'pinned_bytes'): number[] =>
      row.cell(column).split(' ').map(Number);
    return {
      plan: numberOf(row, 'plan'),
      measured: {
        seconds: numberOf(row, 'token_s'),
        bytes: numberOf(row, 'read_bytes'),
        stall: numberOf(row, 'stall_s'),
      },
      room: numbers('room_bytes'),
      diskRates: numbers('disk_bytes_per_s'),
      pinned: numbers('pinned_bytes'),
      facts,
    };
  });
}

function numberOf(row: CsvRow<(typeof RECORDED_COLUMNS)[number]>, column: (typeof RECORDED_COLUMNS)[number]): number {
  const value = Number(row.cell(column));
  if (row.cell(column) !== '' && value >= 0) return value;
  throw new InputError(row.where(column), `"${row.cell(column)}" is not a number`);
}

/** Inputs of the prediction and the simulation of a recorded plan. @param tokens of the run */
export function recordedCase(run: RecordedRun, cell: LabCell, model: Model, tokens: number): AnswersCase {
  const { facts, room, pinned, diskRates } = run;
  return { facts, model, devices: DEVICES, cell, diskRates, room, pinned, tokens };
}
