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

test('a target is kept within its limit and missed beyond it', () => {
  assert.is(verdictOf(judged(109, 100, [100])), 'kept');
  assert.is(verdictOf(judged(111, 100, [100])), 'missed');
});

test('an answer beyond the limit but between the prints is within noise', () => {
  assert.is(verdictOf(judged(115, 100, [100, 130])), 'within noise');
});

test('a print is excluded if no answer keeps it and two others together: 1.1 × 100 is less than 0.9 × 130', () => {
  assert.is(verdictOf(judged(98, 130, [100, 102, 130])), 'excluded');
});

test('a target is missed if some answer would keep all prints, or if most prints are missed', () => {
  assert.is(verdictOf(judged(91, 120, [100, 101, 120])), 'missed');
  assert.is(verdictOf(judged(98, 130, [100, 130, 131])), 'missed');
});

test('there is no verdict without a target or a number', () => {
  assert.is(verdictOf({ ...judged(1, 1, [1]), target: undefined }), undefined);
  assert.is(verdictOf({ ...judged(1, 1, [1]), published: 'OOM' }), undefined);
});

test.run();
