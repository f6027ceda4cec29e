import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { gpuChoices } from '../../../experiments/partition-sweep/gpu-choices.ts';

test('one level: as many as fit', () => {
  assert.equal(gpuChoices(10, 6, 1), [6]);
  assert.equal(gpuChoices(4, 6, 1), [4]);
  assert.equal(gpuChoices(4, 0, 1), [0]);
});

test('levels from none to what fits, in even steps', () => {
  assert.equal(gpuChoices(10, 6, 2), [0, 6]);
  assert.equal(gpuChoices(10, 6, 3), [0, 3, 6]);
  assert.equal(gpuChoices(10, 6, 4), [0, 2, 4, 6]);
});

test('no level twice where fewer layers fit than there are levels', () => {
  assert.equal(gpuChoices(10, 2, 7), [0, 1, 2]);
  assert.equal(gpuChoices(0, 6, 3), [0]);
});

test('all of them', () => {
  assert.equal(gpuChoices(3, 6, 'all'), [0, 1, 2, 3]);
});

test.run();
