/** A worker thread of a sweep: it gets the sweep as workerData, then computes ranges of its points. */

import { workerData } from 'node:worker_threads';
import { lineOf, loadEvaluate, type Sweep } from './sweep.ts';
import type { RangeResult, RangeTask } from './threads.ts';

const evaluate = await loadEvaluate(workerData as Sweep);

export default function computeRange({ from, to, current }: RangeTask): RangeResult {
  const start = performance.now();
  const lines: string[] = [];
  for (let point = from; point < to; point++) {
    current[0] = point;
    lines.push(lineOf(evaluate, point));
  }
  return { lines, seconds: (performance.now() - start) / 1000 };
}
