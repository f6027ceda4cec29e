import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createWorkload } from '../../../engine/model/workload.ts';
import type { Plan } from '../../../engine/plan/plan.ts';
import { simulate } from '../../../simulator/simulate.ts';
import { LAB_MODEL, LAB_SHARE, labCluster, labPlan, NO_BUFFERS } from '../../support/lab.ts';

const MIB = 2 ** 20;

/** Mean seconds, and bytes read per token and device as a share of its weights, after the ring has settled. */
function settled(plan: Plan): { seconds: number; read: number } {
  const run = (outputTokens: number) =>
    simulate({
      cluster: labCluster({ limit: '640 MiB', disk: '400 MB/s' }),
      model: LAB_MODEL,
      plan,
      workload: createWorkload({ promptTokens: 1, outputTokens, context: 0 }),
      runtime: NO_BUFFERS,
      context: 'fixed',
      record: 'tokens',
    });
  const [short, long] = [run(3), run(9)];
  const bytes = (result: typeof long): number =>
    result.devices.reduce((sum, { faultedBytes, prefetchedBytes }) => sum + faultedBytes + prefetchedBytes, 0);
  return { seconds: (long.seconds - short.seconds) / 6, read: (bytes(long) - bytes(short)) / 6 / 4 / LAB_SHARE };
}

test('one round with prefetching reads everything twice without a gain (prima.cpp A.1)', () => {
  const found = settled(labPlan({ rounds: 1, prefetch: 'willneed' }));
  assert.ok(Math.abs(found.read - 2) < 0.01, `${found.read} read`);
  assert.ok(Math.abs(found.seconds / settled(labPlan({ rounds: 1, prefetch: 'none' })).seconds - 1) < 0.01);
});

test('with a pinned prefix and four rounds k/(k − 1)·(S − A) is reloaded', () => {
  // A is the available memory: 640 MiB less the page tables of the policy and two reads in flight.
  const limit = (640 - 6 - 32) * MIB;
  const pinnedBytes = (4 * limit - LAB_SHARE) / 3;
  const found = settled(labPlan({ rounds: 4, prefetch: 'populate', release: 'pinned', pinned: pinnedBytes }));
  const expected = ((4 / 3) * (LAB_SHARE - limit)) / LAB_SHARE;
  assert.ok(Math.abs(found.read - expected) < 0.03, `${found.read} read, ${expected} expected`);
  assert.ok(found.seconds < settled(labPlan({ rounds: 4, prefetch: 'populate', release: 'drop' })).seconds * 0.7);
});

test.run();
