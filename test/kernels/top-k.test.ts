import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Kernels } from '../../engine/kernels/kernels.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { topK } from '../../engine/text/sampling/candidates.ts';
import { testGpuVariants } from '../support/gpu.ts';
import { testNative } from './native-sets.ts';

const reference = openKernels({ implementation: 'reference' });

async function found(kernels: Kernels, x: ArrayLike<number>, width: number, k: number): Promise<number[]> {
  const y = kernels.vector((x.length / width) * (1 + 2 * k));
  kernels.run([{ kind: 'top-k', x: kernels.vector(x), y, width }]);
  await kernels.read(y);
  return [...y.values];
}

/** The sampler's choice from the same values, in the operation's form. */
function expected(values: Float32Array, k: number): number[] {
  const pairs = topK(values, k).flatMap(({ token, logit }) => [token, logit]);
  const padding = new Array<number>(2 * k - pairs.length).fill(-1);
  return [values.filter((value) => !Number.isFinite(value)).length, ...pairs, ...padding];
}

test('the two largest of (3, 7, 7, −∞) are the second and the third, and one value is not finite', async () => {
  assert.equal(await found(reference, [3, 7, 7, Number.NEGATIVE_INFINITY], 4, 2), [1, 1, 7, 2, 7]);
});

test('NaN is never among the largest, and places that are left over are −1', async () => {
  assert.equal(await found(reference, [Number.NaN, 5, Number.NaN, 6], 2, 2), [1, 1, 5, -1, -1, 1, 1, 6, -1, -1]);
});

test('a result that fits no k, and more than a row has, are refused', () => {
  const x = reference.vector(3);
  for (const length of [2, 9])
    assert.throws(
      () => reference.run([{ kind: 'top-k', x, y: reference.vector(length), width: 3 }]),
      `top-k: y has ${length} values for a row of 3; 1 + 2k are needed, with k from 1 to 3`,
    );
});

/** Few different values, so that ties are frequent, and all that floats can be. */
const value = fc.constantFrom(-2, -1, -0, 0, 1e-42, 1, 2, 3.5, -3e38, 3e38, Number.NaN, -1 / 0, 1 / 0);
const row = fc.array(value, { minLength: 1, maxLength: 40 });

testNative('reference and native kernels choose as the sampler does', async () => {
  const native = openKernels({ implementation: 'native', threads: 1 });
  await fc.assert(
    fc.asyncProperty(row, fc.integer({ min: 1, max: 40 }), async (values, most) => {
      const k = Math.min(most, values.length);
      const exact = expected(Float32Array.from(values), k);
      for (const kernels of [reference, native])
        assert.equal(plain(await found(kernels, values, values.length, k)), plain(exact));
    }),
    { seed: 6, numRuns: 100 },
  );
  native.close();
});

/** −0 and 0 are the same logit. */
const plain = (numbers: readonly number[]): number[] => numbers.map((number) => number + 0);

testGpuVariants(
  'a GPU chooses as the sampler does, from one chunk and from several, with ties and NaN',
  async (kernels) => {
    const sample = (length: number, seed: number) =>
      fc.sample(fc.array(value, { minLength: length, maxLength: length }), { seed, numRuns: 1 })[0] as number[];
    for (const [width, k] of [
      [1, 1],
      [37, 37],
      [9000, 1],
      [9000, 40],
    ] as const) {
      const rows = [sample(width, 1), sample(width, 2)];
      const exact = rows.flatMap((values) => expected(Float32Array.from(values), k));
      assert.equal(plain(await found(kernels, rows.flat(), width, k)), plain(exact), `${k} of ${width}`);
    }
  },
);

test.run();
