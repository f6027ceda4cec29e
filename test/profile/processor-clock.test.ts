import { existsSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { clockFor } from '../../engine/profile/processor-clock.ts';
import { testIf } from '../support/needs.ts';

const spin = (milliseconds: number): void => {
  for (const end = performance.now() + milliseconds; performance.now() < end; );
};

test('clockFor returns what was opened, and own time never exceeds wall-clock time', async () => {
  const { opened, clock } = clockFor(() => 'kernels');
  assert.is(opened, 'kernels');
  const { wall, own } = await clock.time(() => spin(20));
  assert.ok(wall >= 0.02 && own > 0 && own <= wall, `${own} of ${wall} s`);
});

testIf(
  existsSync('/proc/self/schedstat'),
  'the system doesn’t count how long threads wait',
  'a thread that others keep from its processor has less time of its own than the wall’s',
  async () => {
    const workers = Array.from({ length: 24 }, () => new Worker('for (;;);', { eval: true }));
    await Promise.all(workers.map((worker) => new Promise((resolve) => worker.once('online', resolve))));
    const { clock } = clockFor(() => undefined);
    const { wall, own } = await clock.time(() => spin(400));
    await Promise.all(workers.map((worker) => worker.terminate()));
    assert.ok(own < 0.9 * wall, `${own} of ${wall} s`);
  },
);

test.run();
