import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { GgufTensor } from '../../../engine/gguf/gguf.ts';
import { planBudget } from '../../../engine/runtime/weights/memory-budget.ts';

const MIB = 2 ** 20;
const FIXED = [{ what: 'all else', bytes: 100 * MIB }];

/** A file of layers with matrices of the given MiB, one after another, and an output of 10 MiB. */
function fileOf(layers: readonly (readonly number[])[]) {
  let offset = 0;
  const tensor = (name: string, mebibytes: number): GgufTensor => {
    const bytes = mebibytes * MIB;
    offset += bytes;
    return { name, shape: [32, bytes / 128], type: 'F32', offset: offset - bytes, bytes };
  };
  const own = layers.map((sizes, layer) => sizes.map((size, i) => tensor(`blk.${layer}.${i}`, size)));
  return { output: [tensor('output.weight', 10)], layers: own, fileBytes: offset, fixed: FIXED };
}

const FOUR = fileOf([
  [4, 4],
  [4, 4],
  [4, 4],
  [4, 4],
]);
const plan = (budget: number) => planBudget({ ...FOUR, budget: budget * MIB });

test('nothing is streamed if all weights fit', () => {
  const { pinned, streamed, bufferBytes } = plan(142);
  assert.is(pinned.size, 9);
  assert.equal([streamed.flat().length, bufferBytes], [0, 0]);
});

test('otherwise the output is pinned, and what fits in addition to two layers: first layers 0 and 2, then 1 and 3', () => {
  const { pinned, streamed, bufferBytes } = plan(141);
  assert.is(bufferBytes, 8 * MIB);
  assert.equal(
    [...pinned].map(({ name }) => name),
    ['output.weight', 'blk.0.0', 'blk.0.1', 'blk.2.0'],
  );
  assert.equal(
    streamed.map((tensors) => tensors.map(({ name }) => name)),
    [[], ['blk.1.0', 'blk.1.1'], ['blk.2.1'], ['blk.3.0', 'blk.3.1']],
  );
});

test('a budget that is too small is refused with the bytes needed, which then suffice', () => {
  const needed = 'all else 100 MiB, output layer 10.0 MiB, two layers to stream through 16.0 MiB';
  assert.throws(() => plan(125), `memory: 125 MiB is too little; this model needs at least 126 MiB (${needed})`);
  assert.equal([...plan(126).pinned], FOUR.output);
});

test('no budget is exceeded, and every matrix is either pinned or streamed', () => {
  const layers = fc.array(fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 4 }), {
    minLength: 2,
    maxLength: 9,
  });
  fc.assert(
    fc.property(layers, fc.integer({ min: 100, max: 300 }), (sizes, budget) => {
      const file = fileOf(sizes);
      const total = (tensors: readonly GgufTensor[]): number => tensors.reduce((sum, { bytes }) => sum + bytes, 0);
      const largest = Math.max(...file.layers.map(total));
      if (budget * MIB < 110 * MIB + Math.min(2 * largest, total(file.layers.flat()))) {
        assert.throws(() => planBudget({ ...file, budget: budget * MIB }), /is too little/);
        return;
      }
      const { pinned, streamed, bufferBytes } = planBudget({ ...file, budget: budget * MIB });
      assert.ok(100 * MIB + total([...pinned]) + 2 * bufferBytes <= budget * MIB);
      assert.ok(streamed.every((tensors) => total(tensors) <= bufferBytes));
      const all = [...pinned, ...streamed.flat()].map(({ name }) => name).sort();
      assert.equal(all, [...file.layers.flat(), ...file.output].map(({ name }) => name).sort());
    }),
    { seed: 5 },
  );
});

test.run();
