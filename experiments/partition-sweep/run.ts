import { threeDigits } from '../../engine/input/format.ts';
import { InputError } from '../../engine/input/input-error.ts';
import type { Progress } from '../../engine/terminal/progress.ts';
import { thousands } from './findings.ts';
import { judgeInParallel } from './parallel.ts';
import type { Point, PointsFile } from './points-file.ts';
import type { Space } from './space.ts';
import type { Sweeper, SweepSetting } from './sweeper.ts';

/** Reports the size of the space, and how much of it will be simulated, before the simulation begins. */
export function announce(space: Space, wanted: number, done: number): void {
  const sizes = space.sizes.map(({ rounds, size }) => `${thousands(size)} with k = ${rounds}`).join(', ');
  const drawn = wanted < space.size ? `; ${thousands(wanted)} of them, drawn at random, are simulated` : '';
  const there = done > 0 ? `; ${thousands(done)} are there already` : '';
  process.stderr.write(`${thousands(space.size)} plans (${sizes})${drawn}${there}\n`);
}

export interface RunParts {
  readonly setting: SweepSetting;
  readonly sweeper: Sweeper;
  /** Numbers of the plans to judge. */
  readonly numbers: Float64Array;
  readonly file: PointsFile;
  readonly workers: number;
  readonly progress: (steps: number) => Progress;
}

export interface RunEnd {
  /** Number of points in the file now. */
  readonly done: number;
  /** The sweep was interrupted before its last plan. */
  readonly stopped: boolean;
}

/**
 * Judges the plans that the file lacks, and appends each result. The first interrupt (Ctrl-C) ends the sweep
 * after the current batch, the second one at once.
 * @throws InputError if this program's result for the file's last plan differs from the stored one
 */
export async function runSweep({ setting, sweeper, numbers, file, workers, progress }: RunParts): Promise<RunEnd> {
  checkLast(sweeper, file);
  const left = numbers.subarray(file.done);
  if (left.length === 0) return { done: numbers.length, stopped: false };
  const interrupt = hearInterrupt();
  const bar = progress(left.length);
  const start = performance.now();
  let done = 0;
  try {
    for await (const { numbers: plans, judged } of judgeInParallel(setting, left, workers)) {
      const points = judged.map((one, index): Point => ({ plan: plans[index] as number, ...one }));
      file.append(points);
      done += points.length;
      // The progress bar stops by itself when the process is interrupted.
      if (interrupt.wanted) break;
      for (const { plan } of points) bar.step(`plan ${plan}`);
    }
  } finally {
    bar.stop();
    // After an interrupt, repetitions of the signal must not end the report that follows.
    if (!interrupt.wanted) interrupt.dispose();
  }
  const seconds = (performance.now() - start) / 1e3;
  const rate = done / seconds;
  process.stderr.write(
    `${thousands(done)} plans in ${seconds.toFixed(1)} s: ${threeDigits(rate)} per second, ${threeDigits(rate / workers)} per worker\n`,
  );
  return { done: file.done + done, stopped: done < left.length };
}

/** Results of two versions of the program must not be mixed, so the file's last plan is judged again. */
function checkLast(sweeper: Sweeper, { path, last }: PointsFile): void {
  if (last === undefined) return;
  const { plan, ...was } = last;
  const is = sweeper.judge(sweeper.plan(plan));
  if (JSON.stringify(was) === JSON.stringify(is)) return;
  throw new InputError(
    path,
    `plan ${plan} is there with ${JSON.stringify(was)}, but comes out as ${JSON.stringify(is)} now: the program has changed; pass --restart to sweep from the beginning, or another --out`,
  );
}

/** Conventional exit code after Ctrl-C: 128 plus the signal's number. */
export const INTERRUPTED = 130;

/**
 * Seconds within which a repeated signal isn't a second Ctrl-C: runners such as tsx pass on a signal already received.
 */
const ECHO_SECONDS = 1;

export interface Interrupt {
  /** An interrupt was received. */
  readonly wanted: boolean;
  /** Restores the default handling of signals. */
  dispose(): void;
}

/** Handles SIGINT (Ctrl-C) and SIGTERM; a second signal, some time after the first, ends the process at once. */
export function hearInterrupt(): Interrupt {
  let first: number | undefined;
  const hear = (): void => {
    const now = performance.now() / 1e3;
    first ??= now;
    if (now - first > ECHO_SECONDS) process.exit(INTERRUPTED);
  };
  process.on('SIGINT', hear).on('SIGTERM', hear);
  return {
    get wanted() {
      return first !== undefined;
    },
    dispose: () => {
      process.off('SIGINT', hear).off('SIGTERM', hear);
    },
  };
}
