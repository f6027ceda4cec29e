import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { planPages } from '../../../engine/runtime/kv/plan-pages.ts';

const test = suite('memory of a paged KV cache');

test('a context that fits is never evicted, and memory for less than a page and two slices is refused', () => {
  const sizes = { pageTokens: 512, contextLength: 1500, layers: 4, sliceBytes: 2 ** 20 };
  const roomy = { pages: 3, keptPages: 3, passingSlices: 0, bytes: 12 * 2 ** 20 };
  const common = { pageTokens: 512, layers: 4, sliceBytes: 2 ** 20 };
  assert.equal(planPages({ ...sizes, budget: 12 * 2 ** 20 }), { ...common, ...roomy });
  const tight = { pages: 1, keptPages: 1, passingSlices: 2, bytes: 6 * 2 ** 20 };
  assert.equal(planPages({ ...sizes, budget: 6 * 2 ** 20 }), { ...common, ...tight });
  assert.throws(
    () => planPages({ ...sizes, budget: 6 * 2 ** 20 - 1 }),
    /KV memory: 6\.0\d MiB is too little; at least 6 MiB are needed \(one page of 512 tokens in 4 layers, and 2 slices/,
  );
});

test.run();
