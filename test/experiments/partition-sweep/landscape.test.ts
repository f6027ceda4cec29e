import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { fasterThan, gatherLandscape, rankCorrelation } from '../../../experiments/partition-sweep/landscape.ts';

const landscape = gatherLandscape(
  [
    { plan: 2, seconds: 3, predicted: 1 },
    { plan: 4, failed: 'out of memory: D4: layers' },
    { plan: 5, seconds: 1, predicted: 2 },
    { plan: 9, seconds: 2, predicted: 3 },
    { plan: 12, failed: 'out of memory: D3: layers' },
  ],
  5,
);

test('feasible plans are ranked, and the others counted by kind', () => {
  assert.equal(
    Array.from(landscape.ranking, (at) => landscape.plans[at]),
    [5, 9, 2],
  );
  assert.equal(
    [...landscape.failures],
    [['out of memory', { count: 2, plan: 4, reason: 'out of memory: D4: layers' }]],
  );
});

test('a time has a rank among the plans', () => {
  assert.equal(
    [0.5, 1, 1.5, 2.5, 3, 4].map((seconds) => fasterThan(landscape, seconds)),
    [0, 0, 1, 2, 2, 3],
  );
});

test('the same order has correlation 1 for any distances, and the reverse −1', () => {
  assert.is(rankCorrelation([1, 2, 3, 4], [10, 11, 100, 1e6]), 1);
  assert.is(rankCorrelation([1, 2, 3, 4], [4, 3, 2, 1]), -1);
});

test('a correlation equals 1 − 6 Σd² / n(n² − 1) with d = 0, 1, 1, 0', () => {
  assert.ok(Math.abs(rankCorrelation([1, 2, 3, 4], [1, 3, 2, 4]) - 0.8) < 1e-12);
});

test('equal values share a rank: 1, 2.5, 2.5, 4 against 1, 2, 3, 4', () => {
  // Deviations −1.5, 0, 0, 1.5 and −1.5, −0.5, 0.5, 1.5: 4.5 / √(4.5 · 5).
  assert.ok(Math.abs(rankCorrelation([1, 2, 2, 3], [1, 2, 3, 4]) - 4.5 / Math.sqrt(22.5)) < 1e-12);
});

test('constants, or a single value, have no rank correlation', () => {
  assert.ok(Number.isNaN(rankCorrelation([1, 1, 1], [1, 2, 3])));
  assert.ok(Number.isNaN(rankCorrelation([1], [1])));
});

test.run();
