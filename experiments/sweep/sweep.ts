import { createHash } from 'node:crypto';
import { z } from 'zod';
import { complaintLine, readValue } from '../../engine/input/complaint.ts';
import { InputError } from '../../engine/input/input-error.ts';
import { StoppedError } from '../../engine/terminal/report-error.ts';
import { fromPlainJson, toPlainJson } from './plain-json.ts';
import { codeVersion } from './version.ts';

/** Experiments with many independent points; `block` is the number of points whose results are stored together. */
const KINDS = {
  'partition-sweep': { module: '../partition-sweep/sweep-points.ts', block: 32 },
  'halda-gap': { module: '../halda-gap/sweep-points.ts', block: 1 },
  rounds: { module: '../rounds/sweep-points.ts', block: 1 },
  upgrades: { module: '../upgrades/sweep-points.ts', block: 250 },
  reproduce: { module: '../papers/sensitivity/sweep-points.ts', block: 1 },
  'sweep-capacity': { module: '../sweep-capacity/sweep-points.ts', block: 1 },
} as const;
export type SweepKind = keyof typeof KINDS;

/** The result of a point by its position, from 0: plain data. */
export type Evaluate = (point: number) => unknown;
export type CreateEvaluate = (setting: unknown) => Evaluate | Promise<Evaluate>;

/** The module of an experiment's points. */
interface PointsModule {
  /** Makes the function that computes a point from the sweep's setting. */
  readonly default: CreateEvaluate;
  /** A point's result. Results come from files and from other machines, so they are checked. */
  readonly RESULT: z.ZodType;
}

/** Independent points 0 … count − 1, which their setting determines. */
export interface Sweep {
  readonly kind: SweepKind;
  /** The setting as plain JSON: all inputs of every point. */
  readonly setting: string;
  readonly count: number;
  /** Points whose results are stored together. */
  readonly block: number;
  /** Hash of code, kind and setting: 32 digits of SHA-256. Results are stored under it. */
  readonly id: string;
}

export function createSweep(kind: SweepKind, setting: unknown, count: number): Sweep {
  const text = toPlainJson(setting);
  const { block } = KINDS[kind];
  return { kind, setting: text, count, block, id: idOf(kind, text, count) };
}

function idOf(kind: string, setting: string, count: number): string {
  return createHash('sha256').update([codeVersion(), kind, count, setting].join('\n')).digest('hex').slice(0, 32);
}

/**
 * A sweep as another program stored it: its hash is computed anew. @throws InputError for another version of the code,
 * or text that isn't a sweep
 */
export function parseSweep(text: string, place: string): Sweep {
  let found: Partial<Sweep> = {};
  try {
    found = JSON.parse(text) ?? {};
  } catch {}
  const { kind, setting, count, id } = found;
  if (
    typeof kind !== 'string' ||
    typeof setting !== 'string' ||
    !Number.isSafeInteger(count) ||
    !Object.hasOwn(KINDS, kind)
  )
    throw new InputError(place, `is not a sweep; its kind must be one of ${Object.keys(KINDS).join(', ')}`);
  if (idOf(kind, setting, count as number) !== id)
    throw new InputError(
      place,
      `is of another version of code or data, or was changed; this is version ${codeVersion()}`,
    );
  return { kind: kind as SweepKind, setting, count: count as number, block: KINDS[kind as SweepKind].block, id };
}

function loadModule(kind: SweepKind): Promise<PointsModule> {
  return import(new URL(KINDS[kind].module, import.meta.url).href);
}

/** Loads the function that computes the points of a sweep. */
export async function loadEvaluate({ kind, setting }: Pick<Sweep, 'kind' | 'setting'>): Promise<Evaluate> {
  return (await loadModule(kind)).default(fromPlainJson(setting));
}

/** Entry in place of a result where computing a point failed. */
export interface FailedPoint {
  readonly point: number;
  readonly error: string;
}

/** The line of a point in a result file. A point that fails has its number and the reason there. */
export function lineOf(evaluate: Evaluate, point: number): string {
  try {
    return JSON.stringify(evaluate(point));
  } catch (error) {
    return JSON.stringify({
      point,
      error: error instanceof Error ? error.message : String(error),
    } satisfies FailedPoint);
  }
}

const FAILED = z.strictObject({ point: z.int(), error: z.string() }) satisfies z.ZodType<FailedPoint>;

export function isFailed(result: unknown): result is FailedPoint {
  return FAILED.safeParse(result).success;
}

/** Text in a result: one line, which may be printed. */
export const RESULT_TEXT = z.string().regex(/^\P{Cc}*$/u, 'has control characters');

/** The result in a point's line. @throws RangeError saying what is wrong with the line */
export type ReadResult = (line: string, point: number) => unknown;

export async function loadReadResult({ kind }: Pick<Sweep, 'kind'>): Promise<ReadResult> {
  const { RESULT } = await loadModule(kind);
  return createReadResult(kind, RESULT);
}

/** Reads the results of a kind of sweep. @param schema of a point's result */
export function createReadResult(kind: SweepKind, schema: z.ZodType): ReadResult {
  return (line, point) => {
    const value = parseLine(line, point);
    const failed = FAILED.safeParse(value);
    if (failed.success && failed.data.point === point) return failed.data;
    const result = readValue(schema, value);
    if ('value' in result) return result.value;
    throw new RangeError(`the result of point ${point} is none of ${kind} (${complaintLine(result.complaint)})`);
  };
}

function parseLine(line: string, point: number): unknown {
  try {
    return JSON.parse(line);
  } catch {
    throw new RangeError(`the result of point ${point} is not JSON`);
  }
}

/** Consecutive results. */
export interface Part {
  readonly from: number;
  readonly lines: readonly string[];
  /** Time that computing them took, if those who did it tell. */
  readonly times?: WorkTimes | undefined;
}

export interface WorkTimes {
  /** Seconds spent on points. */
  readonly busy: number;
  /** Seconds that the workers took in all. */
  readonly spent: number;
}

/** Computes the points of a sweep somewhere. */
export interface Executor {
  /** Results of the points from `done` on, in order. Leaving the loop early stops what this process has started. */
  results(sweep: Sweep, done: number): AsyncGenerator<Part>;
}

/** A sweep can't go on: some points have no result. */
export class SweepError extends StoppedError {
  override readonly name = 'SweepError';
}
