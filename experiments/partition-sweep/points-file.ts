import { appendFileSync, closeSync, existsSync, openSync, renameSync, rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { makeOutputFolder } from '../../commands/output-file.ts';
import { temporaryPath } from '../../engine/files/temporary-file.ts';
import { InputError } from '../../engine/input/input-error.ts';
import { writingProblem } from '../../engine/input/system-error.ts';
import { type CsvValue, toCsv } from '../report/csv.ts';
import { completeLines, type Line } from '../sweep/lines.ts';
import type { Judged } from './judge.ts';
import type { Space } from './space.ts';
import { RESULT } from './sweep-points.ts';
import { differences, type Fingerprint } from './sweeper.ts';

export const POINTS_FILE = 'points.jsonl';

/** A plan of the space by its number, and its result. */
export type Point = Judged & { readonly plan: number };

/**
 * Results of a sweep, appended to OUT/points.jsonl: the settings on the first line, then one plan per line in the
 * order of their numbers. Complete lines survive however a sweep ends; a truncated line is written again.
 */
export interface PointsFile {
  readonly path: string;
  /** Number of plans in the file when it was opened. */
  readonly done: number;
  /** The last of them. */
  readonly last: Point | undefined;
  /** Appends results, a line each. */
  append(lines: readonly string[]): void;
  close(): void;
}

export interface PointsFileParts {
  readonly directory: string;
  readonly fingerprint: Fingerprint;
  /** The points of all plans to judge, in order. */
  readonly numbers: Float64Array;
  /** Discards an existing file. */
  readonly restart: boolean;
}

/** @throws InputError if the file has other settings, or isn't a points file */
export function openPointsFile({ directory, fingerprint, numbers, restart }: PointsFileParts): PointsFile {
  makeOutputFolder('--out', directory);
  const path = join(directory, POINTS_FILE);
  const found = !restart && existsSync(path) ? survey(path, fingerprint, numbers) : undefined;
  if (found !== undefined) truncateSync(path, found.end);
  const file = openSync(path, found === undefined ? 'w' : 'a');
  const append = (text: string): void => {
    try {
      appendFileSync(file, text);
    } catch (error) {
      throw new InputError(path, `${writingProblem(error)}; the same command goes on from here`);
    }
  };
  if (found === undefined) append(`${JSON.stringify({ settings: fingerprint })}\n`);
  return {
    path,
    done: found?.done ?? 0,
    last: found?.last,
    append: (lines) => append(lines.map((line) => `${line}\n`).join('')),
    close: () => closeSync(file),
  };
}

/** The points of a file, one after the other. @throws InputError for a line that is not the next plan's */
export function* readPoints(path: string, numbers: Float64Array): Generator<Point> {
  for (const line of completeLines(path)) if (line.number > 1) yield readPoint(path, line, numbers);
}

interface Found {
  readonly done: number;
  readonly last: Point | undefined;
  /** Byte offset after the last complete line. */
  readonly end: number;
}

/** The state of an existing file; `undefined` if not even its settings were written. */
function survey(path: string, fingerprint: Fingerprint, numbers: Float64Array): Found | undefined {
  let found: Found | undefined;
  for (const line of completeLines(path)) {
    if (line.number === 1) {
      checkSettings(path, line, fingerprint);
      found = { done: 0, last: undefined, end: line.end };
      continue;
    }
    found = { done: line.number - 1, last: readPoint(path, line, numbers), end: line.end };
  }
  return found;
}

const AGAIN = '; pass --restart to sweep from the beginning, or another --out';

function checkSettings(path: string, line: Line, fingerprint: Fingerprint): void {
  const settings = parse(path, line).settings;
  if (typeof settings !== 'object' || settings === null)
    throw new InputError(`${path}:1`, `is not the head of a sweep${AGAIN}`);
  const found = differences(settings as Fingerprint, fingerprint);
  if (found.length > 0) throw new InputError(path, `is a sweep with other settings: ${found.join(', ')}${AGAIN}`);
}

/** The point of a line; that of the first plan is the second. */
function readPoint(path: string, line: Line, numbers: Float64Array): Point {
  const problem = (found: string): InputError => new InputError(`${path}:${line.number}`, `${found}${AGAIN}`);
  const { success, data } = RESULT.safeParse(parse(path, line));
  if (!success) throw problem('is not the result of a plan');
  const next = numbers[line.number - 2];
  if (next === undefined) throw problem(`is beyond the last of ${numbers.length} plans`);
  if (data.plan !== next) throw problem(`holds plan ${data.plan} where ${next} is next`);
  return data as Point;
}

function parse(path: string, { text, number }: Line): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch {}
  throw new InputError(`${path}:${number}`, `is not JSON${AGAIN}`);
}

/** Number of lines written at once. */
const LINES = 1000;

/**
 * Writes the points of a sweep as a CSV file, a line per plan in the order of their numbers, without holding all in
 * memory.
 */
export function writePointsCsv(path: string, points: Iterable<Point>, space: Space, devices: readonly string[]): void {
  const beside = temporaryPath(path);
  try {
    writeRows(beside, points, space, devices);
    renameSync(beside, path);
  } catch (error) {
    rmSync(beside, { force: true });
    if (error instanceof InputError) throw error;
    throw new InputError(path, `${writingProblem(error)}; points.jsonl has all points`);
  }
}

function writeRows(path: string, points: Iterable<Point>, space: Space, devices: readonly string[]): void {
  const file = openSync(path, 'w');
  const columns = devices.flatMap((name) => [`${name}_window`, `${name}_gpu_layers`]);
  const head: CsvValue[] = ['plan', 'rounds', 'output', 'policy', ...columns, 'tpot_s', 'predicted_s', 'failed'];
  let rows = [head];
  const flush = (): void => {
    const [first = [], ...others] = rows;
    appendFileSync(file, toCsv(first.map(String), others));
    rows = [];
  };
  for (const point of points) {
    const { rounds, output, policy, windows, gpuLayers } = space.at(point.plan);
    const result = 'failed' in point ? ['', '', point.failed] : [point.seconds, point.predicted, ''];
    rows.push([
      point.plan,
      rounds,
      output,
      policy,
      ...windows.flatMap((layers, at) => [layers, gpuLayers[at]]),
      ...result,
    ]);
    if (rows.length === LINES) flush();
  }
  if (rows.length > 0) flush();
  closeSync(file);
}
