import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { accuracyOf, within } from '../../../experiments/papers/accuracy.ts';

test('the median is of absolute errors; the worst keeps its sign', () => {
  assert.equal(accuracyOf([0.1, -0.3, 0.2]), { cells: 3, median: 0.2, worst: -0.3 });
  assert.equal(accuracyOf([-0.5]), { cells: 1, median: 0.5, worst: -0.5 });
  assert.is(accuracyOf([]), undefined);
});

test('a limit holds on both sides, and at the limit', () => {
  assert.ok(within({ cells: 1, median: 0, worst: -0.25 }, 0.25));
  assert.not.ok(within({ cells: 1, median: 0, worst: 0.26 }, 0.25));
});

test.run();
