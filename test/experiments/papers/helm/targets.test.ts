import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Judged, verdictOf } from '../../../../experiments/papers/helm/targets.ts';

const judged = (predicted: number, published: number, prints: readonly number[]): Judged => ({
  predicted,
  published,
  target: 0.1,
  range: [Math.min(...prints), Math.max(...prints)],
  prints,
});

test('kept within the limit, missed beyond', () => {
  assert.is(verdictOf(judged(109, 100, [100])), 'kept');
  assert.is(verdictOf(judged(111, 100, [100])), 'missed');
});

test('beyond the limit, but between what is printed', () => {
  assert.is(verdictOf(judged(115, 100, [100, 130])), 'within noise');
});

test('kept at two of three prints that the third excludes: 1.1 × 100 is less than 0.9 × 130', () => {
  assert.is(verdictOf(judged(98, 130, [100, 102, 130])), 'excluded');
});

test('missed where an answer would keep all prints, or where most are missed', () => {
  assert.is(verdictOf(judged(91, 120, [100, 101, 120])), 'missed');
  assert.is(verdictOf(judged(98, 130, [100, 130, 131])), 'missed');
});

test('no verdict without a target or a number', () => {
  assert.is(verdictOf({ ...judged(1, 1, [1]), target: undefined }), undefined);
  assert.is(verdictOf({ ...judged(1, 1, [1]), published: 'OOM' }), undefined);
});

test.run();
