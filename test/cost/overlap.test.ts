import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type PassLoad, passLoad } from '../../engine/cost/mixed-pass.ts';
import { predictOverlapped } from '../../engine/cost/overlap.ts';
import { predict } from '../../engine/cost/predict.ts';
import { weightReads } from '../../engine/cost/weight-reads.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import type { FittedPolicy } from '../../engine/plan/weights-policy.ts';
import { ringAware } from '../../engine/schedule/ring-aware/ring-aware.ts';
import { LAB_MODEL, LAB_SHARE, labCluster, labPinnedBytes, labPlan, NO_BUFFERS } from '../support/lab.ts';
import { near, relativelyNear } from '../support/near.ts';

/** Two rounds of 100 bytes of layers, and 20 bytes of output layer, at 10 B/s; a second for every 10 bytes. */
const WEIGHTS = {
  device: { kind: 'linux' as const, reloadRate: 10 },
  rounds: 2,
  windowBytes: 200,
  outputBytes: 20,
  windowSeconds: 20,
  outputSeconds: 2,
  lastSeconds: 1,
};
const read = (policy: FittedPolicy, room: number, change: Partial<typeof WEIGHTS> = {}) =>
  weightReads({ ...WEIGHTS, ...change, policy, room });
const NONE = { prefetch: 'none', release: 'none' } as const;
const WILLNEED = { prefetch: 'willneed', release: 'none' } as const;

test('weights that fit are never read', () => {
  for (const policy of [NONE, WILLNEED]) assert.equal(Object.values(read(policy, 220)), [0, 0, 0, 0, 0]);
});

test('without prefetching all weights are read by page faults, computed as they come', () => {
  const reads = read(NONE, 219, { device: { kind: 'linux', reloadRate: 5 } });
  assert.equal([reads.faultedBytes, reads.prefetchedBytes, reads.roundSeconds], [220, 0, 0]);
  near(reads.windowWait, 40 - 20);
  near(reads.outputWait, 4 - 2);
});

test('macOS does not read ahead: computing waits for all that is read', () => {
  near(read(NONE, 219, { device: { kind: 'macos-cpu' as never, reloadRate: 10 } }).windowWait, 20);
});

test('what is pinned is not read; the output layer is pinned first', () => {
  const reads = read({ prefetch: 'none', release: 'pinned', pinned: 120 }, 130);
  assert.equal([reads.faultedBytes, reads.outputWait], [100, 0]);
});

test('a window that fits is read once, while other devices compute', () => {
  const reads = read(WILLNEED, 120);
  assert.equal([reads.faultedBytes, reads.prefetchedBytes, reads.windowWait], [0, 220, 0]);
  near(reads.roundSeconds, 11 + 1);
});

test('a window that does not fit is read twice, and so is everything in one round', () => {
  for (const reads of [read(WILLNEED, 119), read(WILLNEED, 219, { rounds: 1 })])
    assert.equal([reads.faultedBytes, reads.prefetchedBytes], [220, 220]);
  near(read(WILLNEED, 119).roundSeconds, 22 + 1);
});

test('where what fits stays, the rest is read, ahead or by page faults', () => {
  const fitting = (policy: FittedPolicy) => weightReads({ ...WEIGHTS, policy, room: 150, reclaim: 'overflow' });
  assert.equal([fitting(NONE).faultedBytes, fitting(NONE).prefetchedBytes], [70, 0]);
  assert.equal([fitting(WILLNEED).faultedBytes, fitting(WILLNEED).prefetchedBytes], [0, 70]);
});

test('one call of MADV_WILLNEED for a whole window counts as none', () => {
  assert.equal(read({ ...WILLNEED, prefetch: 'willneed-whole' }, 120), read(NONE, 120));
});

const MIB = 2 ** 20;
const LAB = {
  truth: labCluster({ limit: '640 MiB', disk: '400 MB/s' }),
  model: LAB_MODEL,
  workload: createWorkload({ promptTokens: 1, outputTokens: 3, context: 4 }),
  runtime: NO_BUFFERS,
};

test('the measured ring of four processes: rounds and pinning turn the sum over disks into their maximum', () => {
  const pinned = labPinnedBytes(8, 640 * MIB);
  // Seconds per token measured on Linux 6.18 with 1074 MB a device, in 640 MiB of memory, disks of 400 MB/s.
  for (const [measured, rounds, policy] of [
    [10.56, 1, { prefetch: 'none' }],
    [10.89, 1, { prefetch: 'willneed' }],
    [10.17, 4, { prefetch: 'none' }],
    [2.85, 4, { prefetch: 'populate' }],
    [2.68, 4, { prefetch: 'populate', release: 'drop' }],
    [1.25, 8, { prefetch: 'populate', release: 'pinned', pinned }],
  ] as const) {
    const { tokenSeconds, bound } = predictOverlapped({ ...LAB, plan: labPlan({ rounds, ...policy }) });
    assert.ok(Math.abs(tokenSeconds / measured - 1) < 0.07, `${measured} s measured, ${tokenSeconds} s predicted`);
    assert.is(bound === undefined, policy.prefetch === 'none' || rounds === 1);
  }
});

test('where everything fits it is the sum of Eq. 11', () => {
  const parts = {
    ...LAB,
    truth: labCluster({ limit: '2 GiB', disk: '400 MB/s' }),
    plan: labPlan({ rounds: 2, prefetch: 'populate' }),
  };
  relativelyNear(predictOverlapped(parts).tokenSeconds, predict(parts).tokenSeconds);
});

test('a pass over tokens of several texts reads the weights once, and computes more', () => {
  const texts = (count: number) =>
    passLoad(Array.from({ length: count }, () => ({ tokens: 1, position: 3, isGenerated: true, isLast: true })));
  const predicted = (rounds: number, pass: PassLoad | undefined) =>
    predictOverlapped({
      ...{ ...LAB, plan: labPlan({ rounds, prefetch: 'populate', release: 'drop' }) },
      ...(pass && { pass }),
    });
  const [token, one, eight] = [predicted(4, undefined), predicted(4, texts(1)), predicted(4, texts(8))];
  relativelyNear(one.tokenSeconds, token.tokenSeconds);
  // In addition to the weights, a row of the embedding for each token: 2048 values in F16.
  assert.equal([one.readBytes, eight.readBytes], [token.readBytes, token.readBytes + 7 * 4096]);
  // The disks bound both.
  assert.ok(eight.tokenSeconds < 1.5 * one.tokenSeconds && eight.tokenSeconds > one.tokenSeconds);
});

test('the plans of ring-aware have the time that it minimises', () => {
  const { considered } = ringAware({ belief: LAB.truth, ...LAB });
  assert.ok(considered.length >= 5);
  for (const { plan, predictedSeconds = 0 } of considered)
    relativelyNear(predictOverlapped({ ...LAB, plan }).tokenSeconds, predictedSeconds);
});

test('bytes are those that the disks read for a token', () => {
  const { readBytes } = predictOverlapped({
    ...LAB,
    plan: labPlan({ rounds: 4, prefetch: 'populate', release: 'drop' }),
  });
  relativelyNear(readBytes, 4 * LAB_SHARE + LAB_MODEL.output.bytes + LAB_MODEL.embedding.bytes / 256);
});

test.run();
