import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { cellName } from '../../datasets/lab/cell.ts';
import { parseRecorded, type RecordedRun } from '../../datasets/lab/recorded.ts';
import { AS_PROBED, answerPlan, CELLS, whyApart } from '../../notebooks/three-answers/answers.ts';

const NAME = 'datasets/measured/three-answers-quick';
const runs = parseRecorded(
  { csv: readFileSync(`${NAME}.csv`, 'utf8'), json: readFileSync(`${NAME}.json`, 'utf8') },
  NAME,
);

function runOf(name: string): RecordedRun {
  const found = runs.find(({ plan }) => cellName(CELLS[plan] as (typeof CELLS)[number]) === name);
  if (found === undefined) throw new RangeError(`no plan is called "${name}"`);
  return found;
}

test('page faults on too little memory: Eq. 15 reads too little, the simulation reads what Linux read', () => {
  const run = runOf('k = 1, no prefetch, 62 % in memory, 218 MB/s');
  const answers = answerPlan(run);
  assert.ok(run.measured.bytes > 2.5 * answers.predicted.bytes);
  assert.ok(Math.abs(answers.simulated.bytes / run.measured.bytes - 1) < 0.05);
  assert.ok(Math.abs(answers.simulated.seconds / run.measured.seconds - 1) < 0.05);
  const reasons = whyApart(CELLS[run.plan] as (typeof CELLS)[number], answers, run.measured);
  assert.match(reasons.join(' '), /^Eq\. 15 expects.*follows the measurement\.$/);
});

test('disks that read at the same time: the closed form adds them up', () => {
  const run = runOf('k = 4, populate, prefix pinned, 62 % in memory, 109 MB/s');
  const answers = answerPlan(run);
  assert.ok(answers.predicted.seconds > 3.5 * run.measured.seconds);
  const reasons = whyApart(CELLS[run.plan] as (typeof CELLS)[number], answers, run.measured);
  assert.match(reasons.join(' '), /^The closed form adds up/);
});

test('a calibration changes the answers: faster disks, more memory, slower hops', () => {
  const run = runOf('k = 4, populate, prefix pinned, 62 % in memory, 109 MB/s');
  const probed = answerPlan(run).simulated;
  assert.ok(answerPlan(run, { ...AS_PROBED, disk: 2 }).simulated.seconds < 0.6 * probed.seconds);
  assert.ok(answerPlan(run, { ...AS_PROBED, hop: 20 }).simulated.seconds > probed.seconds);
  // The pinned bytes were chosen to fit: with less memory, what is prefetched is pushed out before its use.
  assert.ok(answerPlan(run, { ...AS_PROBED, memory: 0.8 }).simulated.seconds > 5 * probed.seconds);
});

test.run();
