import { appendFileSync, closeSync, existsSync, openSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { makeOutputFolder } from '../../commands/output-file.ts';
import { withLockedFolder } from '../../engine/files/folder-lock.ts';
import { InputError } from '../../engine/input/input-error.ts';
import type { Progress } from '../../engine/terminal/progress.ts';
import { completeLines } from './lines.ts';
import { createExecutor, type SweepOptions } from './options.ts';
import { takeResults } from './resume.ts';
import { runPoints } from './run.ts';
import { isFailed, loadReadResult, type ReadResult, type Sweep, SweepError } from './sweep.ts';

export interface ResultsParts {
  readonly sweep: Sweep;
  readonly options: SweepOptions & { readonly out: string };
  readonly progress: (steps: number) => Progress;
  /** Noun for points: `clusters`. */
  readonly noun: string;
}

/** Failed points that a message names. */
const NAMED = 8;

/**
 * The results of all points of a sweep, in order; `undefined` if it was interrupted. They are kept in
 * OUT/points-ID.jsonl, a line `[POINT,RESULT]` each: the same inputs go on where they were, others have another file.
 * @throws SweepError naming the points that failed, InputError if another process writes to the folder, or a file's lines
 * are not the results of points 0, 1, …
 */
export async function sweepResults<Result>(parts: ResultsParts): Promise<Result[] | undefined> {
  const { sweep, options } = parts;
  const executor = await createExecutor(options, options.out);
  makeOutputFolder('--out', options.out);
  const results = await withLockedFolder('--out', options.out, async () => {
    const name = `points-${sweep.id.slice(0, 12)}.jsonl`;
    takeResults(options.resume, name, options.out);
    const path = join(options.out, name);
    const read = await loadReadResult(sweep);
    const { done, end } = existsSync(path) ? lastOf(readResults(path, sweep, read)) : NONE;
    if (existsSync(path)) truncateSync(path, end);
    const file = openSync(path, 'a');
    let next = done;
    const append = (lines: readonly string[]): void =>
      appendFileSync(file, lines.map((line) => `[${next++},${line}]\n`).join(''));
    try {
      const { stopped } = await runPoints({ ...parts, executor, done, append, folder: options.out });
      if (stopped) return undefined;
    } finally {
      closeSync(file);
    }
    return Array.from(readResults(path, sweep, read), ({ result }) => result);
  });
  if (results === undefined) return undefined;
  const failed = results.filter(isFailed);
  const [first] = failed;
  if (first === undefined) return results as Result[];
  const named = failed.slice(0, NAMED).map(({ point }) => point);
  const more = failed.length > NAMED ? ` and ${failed.length - NAMED} more` : '';
  throw new SweepError(
    `${failed.length} of ${results.length} points failed: ${named.join(', ')}${more} (${first.error}); run one alone with --point ${first.point}`,
  );
}

interface StoredResult {
  readonly result: unknown;
  /** Number of points up to this one. */
  readonly done: number;
  /** Byte after its line. */
  readonly end: number;
}

const NONE: Omit<StoredResult, 'result'> = { done: 0, end: 0 };

function lastOf(stored: Iterable<StoredResult>): Omit<StoredResult, 'result'> {
  let last = NONE;
  for (const one of stored) last = one;
  return last;
}

/**
 * The results of a file, one by one.
 * @throws InputError for a line that is not that of the next point: one that is there twice, say
 */
function* readResults(path: string, { count }: Sweep, read: ReadResult): Generator<StoredResult> {
  for (const { text, number, end } of completeLines(path)) {
    const problem = (found: string): InputError =>
      new InputError(
        `${path}:${number}`,
        `${found}; remove the file to compute all points again, or give another --out`,
      );
    if (number > count) throw problem(`is beyond the last of ${count} points`);
    const [, point, line] = /^\[(\d+),(.*)\]$/s.exec(text) ?? [];
    if (point === undefined || line === undefined) throw problem('is not [POINT,RESULT]');
    if (Number(point) !== number - 1) throw problem(`has point ${point} where point ${number - 1} is next`);
    try {
      yield { result: read(line, number - 1), done: number, end };
    } catch (error) {
      throw error instanceof RangeError ? problem(error.message) : error;
    }
  }
}
