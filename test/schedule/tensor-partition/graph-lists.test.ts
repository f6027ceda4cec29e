import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  fewestGraphs,
  graphLists,
  paddedGraphs,
  pipedGraphs,
} from '../../../engine/schedule/tensor-partition/graph-lists.ts';
import { publishedLengths } from '../../../engine/schedule/tensor-partition/published-lengths.ts';

const LENGTHS = [1024, 512, 256, 128, 64, 32];
const sum = (list: readonly number[]): number => list.reduce((total, length) => total + length, 0);

test('300 = 256 + 44 and 600 = 512 + 32 + 56, with the remainder on the GPU (HeteroLLM 4.1.1)', () => {
  assert.equal(publishedLengths(300, LENGTHS), [256]);
  assert.equal(publishedLengths(600, LENGTHS), [512, 32]);
});

test('margins from 56 to 87 reproduce both examples', () => {
  for (let margin = 56; margin <= 87; margin++) {
    assert.equal(publishedLengths(300, LENGTHS, margin), [256]);
    assert.equal(publishedLengths(600, LENGTHS, margin), [512, 32]);
  }
  assert.equal(publishedLengths(600, LENGTHS, 55), [512, 64]);
  assert.equal(publishedLengths(600, LENGTHS, 88), [512]);
});

test('prompts shorter than any graph run on the GPU, and aligned ones leave it nothing', () => {
  assert.equal(publishedLengths(31, LENGTHS), []);
  assert.equal(publishedLengths(2048, LENGTHS), [1024, 1024]);
  assert.equal(publishedLengths(100, LENGTHS, 0), [64, 32]);
});

test('525 tokens are padded to 1024 or piped as 512 + 32', () => {
  assert.equal(paddedGraphs(525, LENGTHS), [1024]);
  assert.equal(pipedGraphs(525, LENGTHS), [512, 32]);
  assert.equal(paddedGraphs(1500, LENGTHS), [1024, 1024]);
  assert.equal(paddedGraphs(32, LENGTHS), [32]);
});

test('fewestGraphs finds the shortest list of a sum', () => {
  assert.equal(fewestGraphs(1760, LENGTHS), [1024, 512, 128, 64, 32]);
  assert.throws(() => fewestGraphs(33, LENGTHS), '33 tokens are no sum of graphs of 1024, 512, 256, 128, 64, 32');
  fc.assert(
    fc.property(fc.array(fc.constantFrom(4, 8, 16), { minLength: 1, maxLength: 6 }), (list) => {
      const fewest = fewestGraphs(sum(list), [16, 8, 4]);
      assert.is(sum(fewest), sum(list));
      assert.ok(fewest.length <= list.length);
    }),
  );
});

test('graphLists has every margin for the GPU, and padding with fewer and fewer graphs', () => {
  assert.equal(graphLists(100, LENGTHS), [[32], [64], [64, 32], [128]]);
  assert.equal(graphLists(70, LENGTHS), [[32], [64], [64, 32], [128]]);
  assert.equal(graphLists(5, LENGTHS), [[32]]);
});

test.run();
