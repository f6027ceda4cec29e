import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { rankCorrelation } from '../../../experiments/partition-sweep/rank-correlation.ts';

test('the same order is 1, whatever the distances; the reverse is −1', () => {
  assert.is(rankCorrelation([1, 2, 3, 4], [10, 11, 100, 1e6]), 1);
  assert.is(rankCorrelation([1, 2, 3, 4], [4, 3, 2, 1]), -1);
});

test('by hand: 1 − 6 Σd² / n(n² − 1) with d = 0, 1, 1, 0', () => {
  assert.ok(Math.abs(rankCorrelation([1, 2, 3, 4], [1, 3, 2, 4]) - 0.8) < 1e-12);
});

test('equal values share a rank: 1, 2.5, 2.5, 4 against 1, 2, 3, 4', () => {
  // Deviations −1.5, 0, 0, 1.5 and −1.5, −0.5, 0.5, 1.5: 4.5 / √(4.5 · 5).
  assert.ok(Math.abs(rankCorrelation([1, 2, 2, 3], [1, 2, 3, 4]) - 4.5 / Math.sqrt(22.5)) < 1e-12);
});

test('nothing can be said of constants, or of one value', () => {
  assert.ok(Number.isNaN(rankCorrelation([1, 1, 1], [1, 2, 3])));
  assert.ok(Number.isNaN(rankCorrelation([1], [1])));
});

test.run();
