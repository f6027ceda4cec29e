import { threeDigits } from '../../engine/input/format.ts';
import { InputError } from '../../engine/input/input-error.ts';
import type { Progress } from '../../engine/terminal/progress.ts';
import { fileJson } from '../report/experiment.ts';
import { hearInterrupt, INTERRUPTED } from './interrupt.ts';
import type { SweepOptions } from './options.ts';
import { statusWriter } from './status-file.ts';
import { type Executor, loadEvaluate, type Sweep } from './sweep.ts';

export interface RunParts {
  readonly sweep: Sweep;
  readonly executor: Executor;
  /** Number of points that have results already. */
  readonly done: number;
  /** Stores results, which come in order. */
  readonly append: (lines: readonly string[]) => void;
  readonly progress: (steps: number) => Progress;
  /** Folder of the results, where others can read the progress. */
  readonly folder: string;
  /** Noun for points: `plans`. */
  readonly noun: string;
}

export interface RunEnd {
  /** Number of points with results now. */
  readonly done: number;
  /** The sweep was interrupted before its last point. */
  readonly stopped: boolean;
}

/**
 * Computes the points that are left, and stores each result. The first interrupt (Ctrl-C) ends the sweep after the
 * current chunk, the second one at once. @throws SweepError naming points that have no result
 */
export async function runPoints({ sweep, executor, done, append, progress, folder, noun }: RunParts): Promise<RunEnd> {
  const left = sweep.count - done;
  if (left === 0) return { done, stopped: false };
  const interrupt = hearInterrupt();
  const bar = progress(left);
  const writeStatus = statusWriter(folder, sweep, done);
  const start = performance.now();
  let added = 0;
  try {
    writeStatus(done);
    for await (const { from, lines, times } of executor.results(sweep, done)) {
      append(lines);
      added += lines.length;
      writeStatus(done + added, times);
      // The progress bar stops by itself when the process is interrupted.
      if (interrupt.wanted) break;
      for (let point = from; point < from + lines.length; point++) bar.step(`point ${point}`);
    }
  } finally {
    bar.stop();
    // After an interrupt, repetitions of the signal must not end the report that follows.
    if (!interrupt.wanted) interrupt.dispose();
  }
  const seconds = (performance.now() - start) / 1e3;
  const count = added.toLocaleString('en-US');
  process.stderr.write(`${count} ${noun} in ${seconds.toFixed(1)} s: ${threeDigits(added / seconds)} per second\n`);
  const stopped = added < left;
  if (stopped) {
    process.stderr.write(`stopped at ${done + added} of ${sweep.count} ${noun}; the same command goes on from there\n`);
    process.exitCode = INTERRUPTED;
  }
  return { done: done + added, stopped };
}

/**
 * Carries out --point and --print-script, which print to stdout in place of a sweep.
 * @returns whether one of them was given
 */
export async function printsInstead(
  sweep: Sweep,
  { point, printScript, ...options }: SweepOptions,
  out: string,
): Promise<boolean> {
  if (point !== undefined) {
    if (point >= sweep.count) throw new InputError('--point', `the last point is ${sweep.count - 1}`);
    process.stdout.write(fileJson((await loadEvaluate(sweep))(point)));
    return true;
  }
  if (!printScript) return false;
  if (options.on.kind !== 'slurm') throw new InputError('--print-script', 'is for --on slurm; leave it out');
  const { slurmScript } = await import('./slurm/script.ts');
  process.stdout.write(slurmScript({ folder: out, sweep, shards: options.shards, hangSeconds: options.hang }));
  return true;
}
