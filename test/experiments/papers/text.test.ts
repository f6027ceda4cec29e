import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { errorText, medianText, quantityText, rangeText } from '../../../experiments/papers/text.ts';

test('errors of times are in percent, those of memory pressure in percentage points', () => {
  assert.is(errorText('s', -0.149), '−14.9 %');
  assert.is(errorText('s', 0.0504), '+5.0 %');
  assert.is(errorText('s', 14.1), '×15.1');
  assert.is(errorText('share', -0.012), '−1.2 pp');
  assert.is(errorText('s', undefined), '');
  assert.is(medianText('share', 0.025), '2.5 pp');
});

test('a figure is formatted as a time, a share or an outcome', () => {
  assert.is(quantityText('s', 0.0149), '14.9 ms');
  assert.is(quantityText('share', 0.047), '4.7 %');
  assert.is(quantityText('s', 'OOM'), 'OOM');
  assert.is(quantityText('s', undefined), '');
});

test('a range has its unit once where both ends share it', () => {
  assert.is(rangeText('s', [9.8, 9.49]), '9.80…9.49 s');
  assert.is(rangeText('s', [0.5, 2]), '500 ms…2.00 s');
  assert.is(rangeText('s', [2, 2.001]), '2.00 s');
  assert.is(rangeText('s', ['OOM', 2]), 'OOM…2.00 s');
});

test.run();
