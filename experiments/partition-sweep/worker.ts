/** A worker thread of a sweep: it gets the setting as workerData, then judges batches of plans given by number. */

import { workerData } from 'node:worker_threads';
import type { Judged } from './judge.ts';
import { createSweeper, type SweepSetting } from './sweeper.ts';

const sweeper = createSweeper(workerData as SweepSetting);

export default function judgeBatch(numbers: Float64Array): Judged[] {
  return Array.from(numbers, (number) => sweeper.judge(sweeper.plan(number)));
}
