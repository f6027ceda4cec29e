import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { errorText, medianText, quantityText, rangeText } from '../../../experiments/papers/text.ts';

test('errors of times in percent, of memory pressure in percentage points', () => {
  assert.is(errorText('tpot', -0.149), '−14.9 %');
  assert.is(errorText('tpot', 0.0504), '+5.0 %');
  assert.is(errorText('tpot', 14.1), '×15.1');
  assert.is(errorText('memory-pressure', -0.012), '−1.2 pp');
  assert.is(errorText('tpot', undefined), '');
  assert.is(medianText('memory-pressure', 0.025), '2.5 pp');
});

test('what was found: a time, a share or an outcome', () => {
  assert.is(quantityText('tpot', 0.0149), '14.9 ms');
  assert.is(quantityText('memory-pressure', 0.047), '4.7 %');
  assert.is(quantityText('tpot', 'OOM'), 'OOM');
  assert.is(quantityText('tpot', undefined), '');
});

test('a range has its unit once where both ends share it', () => {
  assert.is(rangeText('tpot', [9.8, 9.49]), '9.80…9.49 s');
  assert.is(rangeText('tpot', [0.5, 2]), '500 ms…2.00 s');
  assert.is(rangeText('tpot', [2, 2.001]), '2.00 s');
  assert.is(rangeText('tpot', ['OOM', 2]), 'OOM…2.00 s');
});

test.run();
