import { InputError } from '../../engine/input/input-error.ts';
import { threeDigits } from '../../engine/terminal/format.ts';
import type { Progress } from '../../engine/terminal/progress.ts';
import { thousands } from './findings.ts';
import { judgeInParallel } from './parallel.ts';
import type { Point, PointsFile } from './points-file.ts';
import type { Space } from './space.ts';
import type { Sweeper, SweepSetting } from './sweeper.ts';

/** Says how large the space is, and how much of it is to be simulated, before that begins. */
export function announce(space: Space, wanted: number, done: number): void {
  const sizes = space.sizes.map(({ rounds, size }) => `${thousands(size)} with k = ${rounds}`).join(', ');
  const drawn = wanted < space.size ? `; ${thousands(wanted)} of them, drawn at random, are simulated` : '';
  const there = done > 0 ? `; ${thousands(done)} are there already` : '';
  process.stderr.write(`${thousands(space.size)} plans (${sizes})${drawn}${there}\n`);
}

export interface RunParts {
  readonly setting: SweepSetting;
  readonly sweeper: Sweeper;
  /** Of the plans to judge. */
  readonly numbers: Float64Array;
  readonly file: PointsFile;
  readonly workers: number;
  readonly progress: (steps: number) => Progress;
}

export interface RunEnd {
  /** Points that the file holds now. */
  readonly done: number;
  /** It was interrupted before the last. */
  readonly stopped: boolean;
}

/**
 * Judges the plans that the file lacks, and adds them to it as they come. The first interrupt (Ctrl-C) ends the sweep
 * after the batch at hand, the second one at once.
 * @throws InputError if the program judges the file's last plan otherwise than the one that wrote it
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
      // The bar ends by itself when the process is interrupted.
      if (interrupt.wanted) break;
      for (const { plan } of points) bar.step(`plan ${plan}`);
    }
  } finally {
    bar.stop();
    // Once it was heard, echoes of the signal must not end the report that follows.
    if (!interrupt.wanted) interrupt.dispose();
  }
  const seconds = (performance.now() - start) / 1e3;
  const rate = done / seconds;
  process.stderr.write(
    `${thousands(done)} plans in ${seconds.toFixed(1)} s: ${threeDigits(rate)} per second, ${threeDigits(rate / workers)} per worker\n`,
  );
  return { done: file.done + done, stopped: done < left.length };
}

/** Points of two programs would not fit together: the last one there is judged again. */
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

/** Exit code of a program that Ctrl-C ended, by convention: 128 and the signal's number. */
export const INTERRUPTED = 130;

/** Runners such as tsx pass a signal on to a process that the terminal has told already: no second Ctrl-C. */
const ECHO_SECONDS = 1;

export interface Interrupt {
  /** Somebody wants the work to end. */
  readonly wanted: boolean;
  /** Signals end the process again. */
  dispose(): void;
}

/** Hears SIGINT (Ctrl-C) and SIGTERM instead of being ended by them; a second one, later, ends the process at once. */
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
