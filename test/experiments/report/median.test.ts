import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { median } from '../../../experiments/report/median.ts';

test('the median is the middle value, or the mean of the two in the middle', () => {
  assert.is(median([3, 1, 2]), 2);
  assert.is(median([10, 1, 3, 2]), 2.5);
  assert.is(median([7]), 7);
  assert.ok(Number.isNaN(median([])));
});

test('the given array is not sorted', () => {
  const values = [3, 1, 2];
  median(values);
  assert.equal(values, [3, 1, 2]);
});

test.run();
