import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Kernels } from '../../engine/kernels/kernels.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { near } from '../support/near.ts';
import { type AttentionCase, attentionCases, attentionVectors } from './attention-case.ts';
import { NATIVE_SETS, testNative } from './native-sets.ts';

const reference = openKernels({ implementation: 'reference' });
const natives = NATIVE_SETS.map((instructionSet) =>
  openKernels({ implementation: 'native', instructionSet, threads: 2 }),
);

test('equal scores average the values, and a far larger score selects its value', () => {
  for (const kernels of [reference, ...natives]) {
    const cache = kernels.cache({ type: 'F32', kvHeads: 1, capacity: 2, headSize: 2 });
    // Two heads share one KV head. Keys (0, 0) and (0, 100); values (1, 2) and (3, 4).
    const keys = kernels.vector([0, 0, 0, 100]);
    const values = kernels.vector([1, 2, 3, 4]);
    const queries = kernels.vector([1, 0, 0, 1]);
    const y = kernels.vector(4);
    kernels.run([
      { kind: 'store', cache, keys, values, position: 0 },
      { kind: 'attention', cache, queries, y, heads: 2, position: 1, scale: 1 },
    ]);
    for (const [i, expected] of [2, 3, 3, 4].entries()) near(y.values[i] as number, expected, 1e-6);
  }
});

/** Fills a cache and lets the last positions attend. */
function attend(kernels: Kernels, one: AttentionCase): Float32Array {
  const { type, kvHeads, headSize, before } = one;
  const { length, heads, scale, keys, values, queries } = attentionVectors(kernels, one);
  const cache = kernels.cache({ type, kvHeads, capacity: length + 3, headSize });
  const y = kernels.vector(queries.values.length);
  kernels.run([
    { kind: 'store', cache, keys, values, position: 0 },
    { kind: 'attention', cache, queries, y, heads, position: before, scale },
  ]);
  return y.values;
}

testNative('every instruction set attends like the reference, over blocks of positions and odd heads', () => {
  fc.assert(
    fc.property(attentionCases, (one) => {
      const expected = attend(reference, one);
      for (const kernels of natives) {
        for (const [i, value] of attend(kernels, one).entries()) {
          assert.ok(
            Math.abs(value - (expected[i] as number)) < 2e-6,
            `${kernels.instructionSet}: ${value}, ${expected[i]}`,
          );
        }
      }
    }),
    { seed: 6, numRuns: 40 },
  );
});

test.run();
