import * as assert from 'uvu/assert';
import { quantize } from '../../../engine/gguf/formats/formats.ts';
import type { Kernels } from '../../../engine/kernels/kernels.ts';
import { openKernels } from '../../../engine/kernels/open-kernels.ts';
import { QUANTIZATION_NAMES, QUANTIZATIONS, type Quantization } from '../../../engine/model/quantization.ts';
import { nmse } from '../../runtime/nmse.ts';
import type { GpuCheck } from '../../support/gpu-variants.ts';
import { randomFrom, randomValues } from '../random-from.ts';
import { wholeNumberActivations, wholeNumberRows } from '../whole-number-rows.ts';

const reference = openKernels({ implementation: 'reference' });
const ROWS = 70;

/** Not whole groups of the shaders where the format allows it. */
function columnsOf(type: Quantization): number {
  const { block } = QUANTIZATIONS[type];
  return block === 1 ? 77 : 3 * block;
}

async function product(kernels: Kernels, type: Quantization, source: Uint8Array, x: Float32Array): Promise<number[]> {
  const columns = columnsOf(type);
  const matrix = kernels.matrix({ source, offset: 3, type, rows: ROWS, columns });
  const tokens = x.length / columns;
  const y = kernels.vector(ROWS * tokens);
  kernels.run([{ kind: 'multiply', matrix, x: kernels.vector(x), y }]);
  await kernels.read(y);
  return [...y.values];
}

const exactProduct = (type: Quantization): GpuCheck => ({
  name: `${type}: with whole numbers a GPU gives the exact product, for few tokens and in tiles`,
  on: 'plain',
  async check(kernels) {
    const random = randomFrom(7);
    const columns = columnsOf(type);
    const rows = wholeNumberRows(type, ROWS * columns, random);
    const source = new Uint8Array(3 + rows.length);
    source.set(rows, 3);
    // Every shader is compiled, which in software takes a second.
    for (const tokens of type.endsWith('4_K') ? [1, 2, 3, 8, 35] : [1, 35]) {
      const x = Float32Array.from(wholeNumberActivations(columns * tokens, random));
      assert.equal(await product(kernels, type, source, x), await product(reference, type, source, x), `${tokens}`);
    }
  },
});

const sameSums: GpuCheck = {
  name: 'without subgroups the sums are the same',
  on: 'plain',
  async check(_, all) {
    const random = randomFrom(8);
    for (const type of ['F16', 'Q6_K'] as const) {
      const columns = columnsOf(type);
      const rows = wholeNumberRows(type, ROWS * columns, random);
      const source = new Uint8Array(3 + rows.length);
      source.set(rows, 3);
      const x = Float32Array.from(wholeNumberActivations(2 * columns, random));
      const expected = await product(reference, type, source, x);
      for (const { name, kernels } of all) assert.equal(await product(kernels, type, source, x), expected, name);
    }
  },
};

const biasAdded: GpuCheck = {
  name: 'bias is added, and with accumulate what y had before',
  on: 'plain',
  async check(kernels) {
    const source = new Uint8Array(Float32Array.of(1, 2, 3, 4, 5, 6).buffer);
    const matrix = kernels.matrix({ source, type: 'F32', rows: 3, columns: 2 });
    const y = kernels.vector([12, 34, 56]);
    const [x, bias] = [kernels.vector([1, 0]), kernels.vector([0.5, 0, 0])];
    kernels.run([{ kind: 'multiply', matrix, x, y, bias, accumulate: true }]);
    await kernels.read(y);
    assert.equal([...y.values], [13.5, 37, 61]);
  },
};

const embedding: GpuCheck = {
  name: 'an embedding gives the rows of any format',
  on: 'plain',
  async check(kernels) {
    for (const type of ['F32', 'Q4_K', 'Q6_K', 'IQ3_S'] as const) {
      const columns = columnsOf(type);
      const source = quantize(type, Float32Array.from(randomValues(randomFrom(9), 5 * columns)));
      const [found, expected] = await Promise.all(
        [kernels, reference].map(async (each) => {
          const table = each.matrix({ source, type, rows: 5, columns });
          const y = each.vector(4 * columns);
          each.run([{ kind: 'embed', table, tokens: [4, 0, 4, 2], y }]);
          await each.read(y);
          return y.values;
        }),
      );
      const error = Math.max(...(found ?? []).map((value, i) => Math.abs(value - (expected?.[i] as number))));
      assert.ok(error < 1e-6, `${type}: ${error}`);
    }
  },
};

/** The error that is allowed in products whose activations have 8 bits: half a step of 127, uniform, over the mean square. */
const BYTE_NMSE = 3e-5;

const packedProducts: GpuCheck = {
  name: 'rounded to bytes, tiles of packed products are near those of the reference',
  on: 'rounded',
  async check(packed, all) {
    const plain = all[0]?.kernels as Kernels;
    // Groups of 32 and 16 values, without and with a shift, and a lattice; features.test.ts compiles the other formats' shaders.
    for (const type of ['Q8_0', 'Q4_K', 'Q6_K', 'Q2_K', 'IQ1_M'] as const) {
      const random = randomFrom(10);
      // More than one block, tokens and rows that aren't whole tiles, and one token of zeros.
      const columns = 2 * QUANTIZATIONS[type].block;
      const source = quantize(type, Float32Array.from(randomValues(random, ROWS * columns)));
      const values = [...randomValues(random, 34 * columns), ...new Array<number>(columns).fill(0)];
      const [found, exact, unrounded] = await Promise.all(
        [packed, reference, plain].map(async (kernels) => {
          const matrix = kernels.matrix({ source, type, rows: ROWS, columns });
          const bias = kernels.vector(ROWS);
          const y = kernels.vector(new Float32Array(ROWS * 35).fill(0.5));
          const x = kernels.vector(values);
          kernels.run([{ kind: 'multiply', matrix, x, y, bias, accumulate: true }]);
          await kernels.read(y);
          return y.values;
        }),
      );
      const error = nmse(found as Float32Array, exact as Float32Array);
      assert.ok(error < BYTE_NMSE, `${type}: ${error}`);
      assert.ok(error > 1e-8, `${type}: not rounded`);
      assert.ok(nmse(unrounded as Float32Array, exact as Float32Array) < 1e-10, `${type} without packed products`);
      assert.equal([...(found ?? [])].slice(-ROWS), new Array<number>(ROWS).fill(0.5), `${type}: zeros`);
    }
  },
};

const manyTokens: GpuCheck = {
  name: 'as the device does them best, products of many tokens are near those of the reference',
  on: 'best',
  async check(kernels) {
    // Whole tiles and parts of tiles, and a matrix with enough of them for large ones.
    for (const [type, rows, tokens] of [
      ['F16', 70, 35],
      ['Q4_K', 200, 130],
      ['Q6_K', 64, 64],
      ['MXFP4', 130, 20],
    ] as const) {
      const random = randomFrom(11);
      const columns = 256;
      const source = quantize(type, Float32Array.from(randomValues(random, rows * columns)));
      const [values, before] = [randomValues(random, tokens * columns), randomValues(random, tokens * rows)];
      const bias = randomValues(random, rows);
      const [found, expected] = await Promise.all(
        [kernels, reference].map(async (each) => {
          const matrix = each.matrix({ source, type, rows, columns });
          const y = each.vector(before);
          each.run([
            { kind: 'multiply', matrix, x: each.vector(values), y, bias: each.vector(bias), accumulate: true },
          ]);
          await each.read(y);
          return y.values;
        }),
      );
      const error = nmse(found as Float32Array, expected as Float32Array);
      assert.ok(error < BYTE_NMSE, `${type} of ${rows} rows, ${tokens} tokens: ${error}`);
    }
  },
};

/** Products in every format, embeddings, and products of packed bytes. */
export const PRODUCT_CHECKS: readonly GpuCheck[] = [
  ...QUANTIZATION_NAMES.map(exactProduct),
  ...[sameSums, biasAdded, embedding, packedProducts, manyTokens],
];
