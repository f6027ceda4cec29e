import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { quantize } from '../../engine/gguf/formats/formats.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import type { MultiplyOperation } from '../../engine/kernels/operation.ts';
import { QUANTIZATION_NAMES, QUANTIZATIONS, type Quantization } from '../../engine/model/quantization.ts';
import { mostSingly } from './most-singly.ts';
import { NATIVE_SETS, testNative } from './native-sets.ts';
import { randomFrom, randomValues } from './random-from.ts';

const TOKENS = 35;
const ROWS = 37;

/** Products of the tokens `from` up to `to` with a matrix that all calls have in common: [tokens][ROWS]. */
function multiplier(instructionSet: string, type: Quantization, exact: boolean, columns: number) {
  const kernels = openKernels({ implementation: 'native', instructionSet, threads: 2, exact });
  const random = randomFrom(7);
  const source = quantize(type, Float32Array.from(randomValues(random, ROWS * columns)));
  const matrix = kernels.matrix({ source, type, rows: ROWS, columns });
  const all = Float32Array.from(randomValues(random, TOKENS * columns));
  const products = (from: number, to: number, how: Pick<MultiplyOperation, 'multiplied'>): number[] => {
    const x = kernels.vector(all.subarray(from * columns, to * columns));
    const y = kernels.vector((to - from) * ROWS);
    kernels.run([{ kind: 'multiply', matrix, x, y, ...how }]);
    return [...y.values];
  };
  return { kernels, products };
}

for (const type of QUANTIZATION_NAMES) {
  testNative(`${type}: a token multiplied singly, or together with others, has one result in any company`, () => {
    for (const set of NATIVE_SETS) {
      for (const exact of [false, true]) {
        const { block } = QUANTIZATIONS[type];
        const { kernels, products } = multiplier(set, type, exact, block === 1 ? 45 : 3 * block);
        const alone = Array.from({ length: TOKENS }, (_, token) => products(token, token + 1, {})).flat();
        const together = products(0, TOKENS, { multiplied: 'together' });
        for (const [from, to] of [
          [0, 1],
          [3, 5],
          [1, 4],
          [2, 6],
          [4, 9],
          [7, 18],
          [0, TOKENS],
        ] as const) {
          const where = `${set}, ${exact ? 'exact, ' : ''}tokens ${from} to ${to}`;
          const part = (rows: number[]): number[] => rows.slice(from * ROWS, to * ROWS);
          assert.equal(products(from, to, { multiplied: 'singly' }), part(alone), `${where} singly`);
          assert.equal(products(from, to, { multiplied: 'together' }), part(together), `${where} together`);
        }
        assert.equal(products(0, TOKENS, {}), together, `${set}: many tokens are multiplied together by default`);
        kernels.close();
      }
    }
  });
}

for (const type of ['F16', 'Q4_K', 'Q8_0', 'IQ3_S'] as const) {
  testNative(`${type}: a prompt too short for a full pack is multiplied singly`, () => {
    for (const set of NATIVE_SETS) {
      const { kernels, products } = multiplier(set, type, false, 3 * Math.max(32, QUANTIZATIONS[type].block));
      const most = mostSingly(set, type);
      for (const [count, multiplied] of [
        [most, 'singly'],
        [most + 1, 'together'],
      ] as const)
        assert.equal(products(0, count, {}), products(0, count, { multiplied }), `${set}, ${count}`);
      kernels.close();
    }
  });
}

for (const type of ['F16', 'Q8_0', 'Q4_K', 'Q6_K'] as const) {
  testNative(`${type}: the same with rows so long that their activations are not kept in a cache`, () => {
    // Two passes of 2048 columns, and a rest.
    const columns = type === 'F16' || type === 'Q8_0' ? 4096 + 96 : 4096 + 256;
    for (const set of NATIVE_SETS) {
      const { kernels, products } = multiplier(set, type, false, columns);
      const alone = Array.from({ length: 8 }, (_, token) => products(token, token + 1, {})).flat();
      for (const count of [2, 3, 4, 5, 8]) {
        assert.equal(products(0, count, { multiplied: 'singly' }), alone.slice(0, count * ROWS), `${set}, ${count}`);
      }
      kernels.close();
    }
  });
}

test.run();
