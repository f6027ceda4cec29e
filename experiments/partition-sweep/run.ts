import { InputError } from '../../engine/input/input-error.ts';
import { threeDigits } from '../../engine/terminal/format.ts';
import { createProgress } from '../../engine/terminal/progress.ts';
import { hearInterrupt } from './interrupt.ts';
import { judgeInParallel } from './parallel.ts';
import type { Point, PointsFile } from './points-file.ts';
import type { Sweeper, SweepSetting } from './sweeper.ts';
import { thousands } from './text.ts';

export interface RunParts {
  readonly setting: SweepSetting;
  readonly sweeper: Sweeper;
  /** Of the plans to judge. */
  readonly numbers: Float64Array;
  readonly file: PointsFile;
  readonly workers: number;
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
export async function runSweep({ setting, sweeper, numbers, file, workers }: RunParts): Promise<RunEnd> {
  checkLast(sweeper, file);
  const left = numbers.subarray(file.done);
  if (left.length === 0) return { done: numbers.length, stopped: false };
  const interrupt = hearInterrupt();
  const progress = createProgress(left.length);
  const start = performance.now();
  let done = 0;
  try {
    for await (const { numbers: plans, judged } of judgeInParallel(setting, left, workers)) {
      const points = judged.map((one, index): Point => ({ plan: plans[index] as number, ...one }));
      file.append(points);
      done += points.length;
      // The bar ends by itself when the process is interrupted.
      if (interrupt.wanted) break;
      for (const { plan } of points) progress.step(`plan ${plan}`);
    }
  } finally {
    progress.stop();
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
