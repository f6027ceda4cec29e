import { appendFileSync, closeSync, existsSync, openSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { makeOutputFolder } from '../../engine/commands/output-file.ts';
import type { Progress } from '../../engine/terminal/progress.ts';
import { completeLines } from './lines.ts';
import { createExecutor, type SweepOptions } from './options.ts';
import { takeResults } from './resume.ts';
import { runPoints } from './run.ts';
import { isFailed, type Sweep, SweepError } from './sweep.ts';

export interface ResultsParts {
  readonly sweep: Sweep;
  readonly options: SweepOptions & { readonly out: string };
  readonly progress: (steps: number) => Progress;
  /** What points are called: `clusters`. */
  readonly noun: string;
}

/** Failed points that a message names. */
const NAMED = 8;

/**
 * The results of all points of a sweep, in order; `undefined` if it was interrupted. They are kept in
 * OUT/points-ID.jsonl, a line per point: the same inputs go on where they were, others have another file.
 * @throws SweepError naming the points that failed
 */
export async function sweepResults<Result>({
  sweep,
  options,
  progress,
  noun,
}: ResultsParts): Promise<Result[] | undefined> {
  const executor = await createExecutor(options, options.out);
  makeOutputFolder('--out', options.out);
  const name = `points-${sweep.id.slice(0, 12)}.jsonl`;
  takeResults(options.resume, name, options.out);
  const path = join(options.out, name);
  let done = 0;
  if (existsSync(path)) {
    let end = 0;
    for (const line of completeLines(path)) [done, end] = [line.number, line.end];
    truncateSync(path, end);
  }
  const file = openSync(path, 'a');
  const append = (lines: readonly string[]): void => appendFileSync(file, lines.map((line) => `${line}\n`).join(''));
  try {
    const end = await runPoints({ sweep, executor, done, append, progress, folder: options.out, noun });
    if (end.stopped) return undefined;
  } finally {
    closeSync(file);
  }
  const results = Array.from(completeLines(path), ({ text }): unknown => JSON.parse(text));
  const failed = results.filter(isFailed);
  const [first] = failed;
  if (first === undefined) return results as Result[];
  const named = failed.slice(0, NAMED).map(({ point }) => point);
  const more = failed.length > NAMED ? ` and ${failed.length - NAMED} more` : '';
  throw new SweepError(
    `${failed.length} of ${results.length} points failed: ${named.join(', ')}${more} (${first.error}); run one alone with --point ${first.point}`,
  );
}
