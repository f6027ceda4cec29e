import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Kernels } from '../../engine/kernels/kernels.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { near } from '../support/near.ts';
import { NATIVE_SETS, testNative } from './native-sets.ts';
import { randomFrom, randomValues } from './random-from.ts';

const reference = openKernels({ implementation: 'reference' });
const natives = NATIVE_SETS.map((instructionSet) =>
  openKernels({ implementation: 'native', instructionSet, threads: 2 }),
);

test('by hand: equal scores average the values, a far larger one picks its own', () => {
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

interface Shape {
  readonly kvHeads: number;
  readonly group: number;
  readonly headSize: number;
  readonly before: number;
  readonly tokens: number;
  readonly type: 'F16' | 'F32';
  readonly seed: number;
}

const shapes = fc.record<Shape>({
  kvHeads: fc.integer({ min: 1, max: 3 }),
  group: fc.integer({ min: 1, max: 5 }),
  headSize: fc.integer({ min: 1, max: 70 }),
  before: fc.integer({ min: 0, max: 150 }),
  tokens: fc.integer({ min: 1, max: 5 }),
  type: fc.constantFrom('F16', 'F32'),
  seed: fc.integer({ min: 1, max: 2 ** 30 }),
});

/** Fills a cache and lets the last `tokens` positions attend; scores grow along the way, so that the maximum moves. */
function attend(kernels: Kernels, { kvHeads, group, headSize, before, tokens, type, seed }: Shape): Float32Array {
  const random = randomFrom(seed);
  const length = before + tokens;
  const cache = kernels.cache({ type, kvHeads, capacity: length + 3, headSize });
  const keys = randomValues(random, length * kvHeads * headSize).map(
    (key, i) => key * (1 + i / (kvHeads * headSize) / 30),
  );
  const values = randomValues(random, length * kvHeads * headSize);
  const queries = kernels.vector(randomValues(random, tokens * kvHeads * group * headSize, 2));
  const y = kernels.vector(queries.values.length);
  const heads = kvHeads * group;
  kernels.run([
    { kind: 'store', cache, keys: kernels.vector(keys), values: kernels.vector(values), position: 0 },
    { kind: 'attention', cache, queries, y, heads, position: before, scale: 1 / Math.sqrt(headSize) },
  ]);
  return y.values;
}

testNative('every instruction set attends like the reference, over blocks of positions and odd heads', () => {
  fc.assert(
    fc.property(shapes, (shape) => {
      const expected = attend(reference, shape);
      for (const kernels of natives) {
        for (const [i, value] of attend(kernels, shape).entries()) {
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
