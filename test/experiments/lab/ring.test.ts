import { setTimeout } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { listens } from '../../../experiments/lab/ring.ts';

const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;

test('a worker that ends before it listens is an error, and nothing goes on asking it', async () => {
  const before = timers();
  const worker = { stdout: '', stderr: 'no port', ended: setTimeout(30, 1), stop: () => {} };
  let problem = '';
  await listens(worker, 'd2').catch((error: Error) => {
    problem = error.message;
  });
  assert.is(problem, 'the worker on d2 ended with 1: no port');
  await setTimeout(60);
  assert.ok(timers() <= before);
});

test.run();
