import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createNamedModel, loadCatalogue, loadCluster, loadDevices } from '../../datasets/load.ts';
import { withDevices } from '../../engine/hardware/cluster.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import { answer, longestContext, type RunnableAnswer } from '../../engine/planner/answer.ts';
import { candidates, closedFormSeconds } from '../../engine/planner/candidates.ts';
import { upgradeParts, upgrades, withoutDevices } from '../../engine/planner/changes.ts';
import type { Question } from '../../engine/planner/question.ts';
import { optimal } from '../../engine/schedule/exact/optimal.ts';

const test = suite('planner');
const catalogue = loadCatalogue();
const home = loadCluster('prima-home');

function asked(model: string, cluster = home, context = 1024): Question {
  return { cluster, model: createNamedModel(catalogue, model), workload: createWorkload({ context }) };
}

function runnable(question: Question, simulates = false): RunnableAnswer {
  const answered = answer(question, { simulates });
  if (answered.status === 'does-not-fit') throw new Error(answered.reason);
  return answered;
}

test('candidates can run, differ and are sorted by time, and the first is no slower than the optimum of Eq. 1', () => {
  for (const name of ['Llama-3-8B', 'Llama-1-30B', 'Llama-3-70B']) {
    const question = asked(name);
    const problem = { belief: question.cluster, model: question.model, workload: question.workload };
    const found = candidates(problem);
    const seconds = found.map((candidate) => candidate.seconds);
    assert.ok(seconds.every(Number.isFinite));
    assert.equal(
      seconds,
      seconds.toSorted((one, other) => one - other),
    );
    const plans = found.map(({ plan }) => JSON.stringify({ ...plan, scheduler: '' }));
    assert.is(new Set(plans).size, plans.length);
    const { plan } = optimal(problem);
    assert.ok(plan && (seconds[0] as number) <= closedFormSeconds(problem, plan));
  }
});

test('8B runs on the GPU of D3 alone; 70B reads from disk; neither fits in a watch', () => {
  const small = runnable(asked('Llama-3-8B'));
  assert.is(small.status, 'in-memory');
  assert.equal(
    small.plan.stages.map(({ device, processor, to }) => [device, processor, to]),
    [['D3', 'gpu', 32]],
  );
  const large = runnable(asked('Llama-3-70B'));
  assert.is(large.status, 'from-disk');
  assert.ok(large.reloadedBytes > 0);

  const [device] = home.devices;
  const memory = { total: 2 ** 28, available: 2 ** 26, swappable: 0, swapFree: 0 };
  const watch = { ...home, devices: [{ ...(device as (typeof home.devices)[number]), gpu: undefined, memory }] };
  const none = answer(asked('Llama-3-8B', watch), { simulates: false });
  assert.is(none.status, 'does-not-fit');
  assert.match(none.status === 'does-not-fit' ? none.reason : '', /fits in no combination of devices/);
});

test('with a simulation the best plan is the fastest simulated one; warm is never slower than cold', () => {
  const { simulated, predictedSeconds } = runnable(asked('Llama-3-45B'), true);
  assert.ok(simulated !== undefined);
  assert.ok(simulated.warmSeconds <= simulated.coldSeconds);
  assert.ok(Math.abs(simulated.tokenSeconds / predictedSeconds - 1) < 0.1);
});

test('the longest context fits, and one token more does not', () => {
  const question = asked('Llama-3-14B');
  const { plan } = runnable(question);
  const longest = longestContext(question, plan);
  const seconds = (context: number): number =>
    closedFormSeconds({ belief: question.cluster, model: question.model, workload: createWorkload({ context }) }, plan);
  assert.ok(longest > 1024);
  assert.ok(Number.isFinite(seconds(longest)));
  assert.is(seconds(longest + 1), Number.POSITIVE_INFINITY);
});

test('no device is worse than none, and no upgrade makes the prediction slower', () => {
  const question = asked('Llama-3-70B', withDevices(home, ['D3', 'D1', 'D2']));
  const { predictedSeconds } = runnable(question);
  for (const { what, seconds } of withoutDevices(question)) assert.ok(seconds >= predictedSeconds * 0.999, what);
  const found = upgrades(question, upgradeParts(loadDevices()));
  for (const { what, seconds } of found) assert.ok(seconds <= predictedSeconds * 1.001, what);
  assert.ok((found[0]?.seconds ?? 0) < 0.8 * predictedSeconds);
  assert.ok(
    found.every(({ what }) => !what.startsWith('D1')),
    'the memory of a Mac is soldered in',
  );
});

test.run();
