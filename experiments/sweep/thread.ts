/** A worker thread of a sweep: it gets the sweep as workerData, then computes ranges of its points. */

import { workerData } from 'node:worker_threads';
import { type Evaluate, lineOf, loadEvaluate, type Sweep } from './sweep.ts';
import { LOADING, type RangeResult, type RangeTask } from './threads.ts';

let loaded: Promise<Evaluate> | undefined;

/** @throws whatever the sweep's setting makes fail */
export default async function computeRange({ from, to, current }: RangeTask): Promise<RangeResult> {
  current[0] = LOADING;
  loaded ??= loadEvaluate(workerData as Sweep);
  const evaluate = await loaded;
  const start = performance.now();
  const lines: string[] = [];
  for (let point = from; point < to; point++) {
    current[0] = point;
    lines.push(lineOf(evaluate, point));
  }
  return { lines, seconds: (performance.now() - start) / 1000 };
}
