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

test('a target is kept within the limit and missed beyond', () => {
  assert.is(verdictOf(judged(109, 100, [100])), 'kept');
  assert.is(verdictOf(judged(111, 100, [100])), 'missed');
});

test('a prediction beyond the limit may lie between the prints', () => {
  assert.is(verdictOf(judged(115, 100, [100, 130])), 'within noise');
});

test('a target is kept at two of three prints if the third excludes them: 1.1 × 100 is less than 0.9 × 130', () => {
  assert.is(verdictOf(judged(98, 130, [100, 102, 130])), 'excluded');
});

test('a target is missed if some answer would keep it at all prints, or if it is missed at most of them', () => {
  assert.is(verdictOf(judged(91, 120, [100, 101, 120])), 'missed');
  assert.is(verdictOf(judged(98, 130, [100, 130, 131])), 'missed');
});

test('there is no verdict without a target or a number', () => {
  assert.is(verdictOf({ ...judged(1, 1, [1]), target: undefined }), undefined);
  assert.is(verdictOf({ ...judged(1, 1, [1]), published: 'OOM' }), undefined);
});

test.run();
