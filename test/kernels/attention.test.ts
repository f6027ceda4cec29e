import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Kernels } from '../../engine/kernels/kernels.ts';
import type { Multiplied } from '../../engine/kernels/multiplied.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import type { Vector } from '../../engine/kernels/vector.ts';
import { nmse } from '../runtime/nmse.ts';
import { near } from '../support/near.ts';
import { BF16_SETS } from '../support/rounding-sets.ts';
import { type AttentionCase, attentionCases, attentionVectors, roundedCases } from './attention-case.ts';
import { NATIVE_SETS, testNative } from './native-sets.ts';

const reference = openKernels({ implementation: 'reference' });
const open = (instructionSet: string, exact: boolean): Kernels =>
  openKernels({ implementation: 'native', instructionSet, threads: 2, exact });
const natives = NATIVE_SETS.map((set) => open(set, true));
/** Many tokens attend in fewer bits, if the heads' size is a multiple of 16 and the cache isn't in single precision. */
const rounding = NATIVE_SETS.filter((set) => BF16_SETS.includes(set)).map((set) => open(set, false));
const MULTIPLIED = ['singly', 'together'] as const;

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
  const { type, kvHeads, headSize, before, window } = one;
  const { length, heads, scale, keys, values, queries } = attentionVectors(kernels, one);
  const cache = kernels.cache({ type, kvHeads, capacity: length + 3, headSize });
  const y = kernels.vector(queries.values.length);
  kernels.run([
    { kind: 'store', cache, keys, values, position: 0 },
    { kind: 'attention', cache, queries, y, heads, position: before, window, scale },
  ]);
  return y.values;
}

test('quantized caches hold a head in blocks of 32 values with one scale', () => {
  for (const kernels of [reference, ...natives]) {
    // The largest value is a power of two times the most steps, so that both formats hold these values exactly.
    for (const [type, steps] of [
      ['Q8_0', 127],
      ['Q4_0', 7],
    ] as const) {
      const cache = kernels.cache({ type, kvHeads: 1, capacity: 1, headSize: 64 });
      const row = Array.from(
        { length: 64 },
        (_, i) => (i < 32 ? 0.5 : 4) * (type === 'Q4_0' && i % 32 === 3 ? -8 : (i % steps) - 3),
      );
      if (type === 'Q8_0') [row[5], row[40]] = [0.5 * -127, 4 * 127];
      const keys = kernels.vector(row);
      const [queries, y] = [kernels.vector(64), kernels.vector(64)];
      kernels.run([
        { kind: 'store', cache, keys, values: keys, position: 0 },
        { kind: 'attention', cache, queries, y, heads: 1, position: 0, scale: 1 },
      ]);
      assert.equal([...y.values], row, `${kernels.instructionSet}, ${type}`);
    }
  }
});

test('values that are not finite are not lost in a quantized cache', () => {
  for (const kernels of [reference, ...natives]) {
    for (const type of ['Q8_0', 'Q4_0'] as const) {
      for (const bad of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
        const cache = kernels.cache({ type, kvHeads: 1, capacity: 1, headSize: 32 });
        const values = kernels.vector(Array.from({ length: 32 }, (_, i) => (i === 9 ? bad : i)));
        const [keys, queries, y] = [kernels.vector(32), kernels.vector(32), kernels.vector(32)];
        kernels.run([
          { kind: 'store', cache, keys, values, position: 0 },
          { kind: 'attention', cache, queries, y, heads: 1, position: 0, scale: 1 },
        ]);
        assert.ok(y.values.every(Number.isNaN), `${kernels.instructionSet}, ${type}, ${bad}`);
      }
    }
  }
});

test('heads that are not whole blocks are refused for a quantized cache', () => {
  for (const kernels of [reference, ...natives]) {
    assert.throws(
      () => kernels.cache({ type: 'Q8_0', kvHeads: 1, capacity: 1, headSize: 48 }),
      /a Q8_0 cache of heads of 48 values; they must be a multiple of 32/,
    );
  }
});

test('with a window a token sees the last positions up to its own, whatever they are', () => {
  fc.assert(
    fc.property(attentionCases, (drawn) => {
      const one = {
        ...drawn,
        kvHeads: 1,
        type: 'F32' as const,
        tokens: Math.min(drawn.tokens, 9),
        window: drawn.window ?? 3,
      };
      const { heads, scale, keys, values, queries } = attentionVectors(reference, one);
      const { headSize, before, tokens, window } = one;
      const found = attend(reference, one);
      for (let row = 0; row < tokens * heads; row++) {
        const own = before + Math.floor(row / heads);
        const sums = new Float64Array(headSize);
        let total = 0;
        for (let p = 0; p <= own; p++) {
          if (own - p >= window) continue;
          let score = 0;
          for (let i = 0; i < headSize; i++)
            score += (queries.values[row * headSize + i] as number) * (keys.values[p * headSize + i] as number);
          const weight = Math.exp(scale * score);
          total += weight;
          for (let i = 0; i < headSize; i++) sums[i]! += weight * (values.values[p * headSize + i] as number);
        }
        for (const [i, sum] of sums.entries()) near(found[row * headSize + i] as number, sum / total, 1e-5);
      }
    }),
    { seed: 14, numRuns: 15 },
  );
});

test('a window of half a position, of none and of NaN is refused', () => {
  const cache = reference.cache({ type: 'F32', kvHeads: 1, capacity: 1, headSize: 1 });
  const [queries, y] = [reference.vector(1), reference.vector(1)];
  for (const window of [0.5, 0, -1, Number.NaN])
    assert.throws(
      () => reference.run([{ kind: 'attention', cache, queries, y, heads: 1, position: 0, window, scale: 1 }]),
      /attention: a window of .* positions; a whole number of at least 1 is needed/,
    );
});

testNative('numbers that are not finite, far before the window, change nothing', () => {
  for (const kernels of [...natives, ...rounding])
    for (const tokens of [1, 9]) {
      const cache = kernels.cache({ type: 'F16', kvHeads: 1, capacity: 200, headSize: 16 });
      const keys = kernels.vector(new Float32Array(200 * 16).fill(Number.NaN, 0, 150 * 16).fill(1, 150 * 16));
      const [queries, y] = [kernels.vector(tokens * 16), kernels.vector(tokens * 16)];
      const position = 191;
      kernels.run([
        { kind: 'store', cache, keys, values: keys, position: 0 },
        { kind: 'attention', cache, queries, y, heads: 1, position, window: position - 149, scale: 1 },
      ]);
      for (const value of y.values) near(value, 1, 1e-6);
    }
});

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

testNative('many tokens attend in fewer bits, the same for every kind of cache, unless they are to be exact', () => {
  fc.assert(
    fc.property(roundedCases, (one) => {
      const expected = attend(reference, one);
      for (const kernels of rounding) {
        const error = nmse(attend(kernels, one), expected);
        // Error of queries, keys, values and weights in 15 bits; single precision has 1e-12.
        assert.ok(error > 1e-11 && error < 1e-7, `${kernels.instructionSet}, ${one.type}: ${error}`);
      }
    }),
    { seed: 9, numRuns: 12 },
  );
});

test('numbers that are not finite are not lost in fewer bits', () => {
  for (const kernels of rounding) {
    for (const [place, bad] of [
      ['queries', Number.NaN],
      ['queries', Number.POSITIVE_INFINITY],
      ['keys', Number.NaN],
      ['keys', Number.NEGATIVE_INFINITY],
      ['values', Number.NaN],
    ] as const) {
      const cache = kernels.cache({ type: 'F16', kvHeads: 1, capacity: 9, headSize: 16 });
      const vectors = {
        keys: kernels.vector(new Float32Array(9 * 16).fill(0.5)),
        values: kernels.vector(new Float32Array(9 * 16).fill(1)),
        queries: kernels.vector(new Float32Array(9 * 16).fill(0.5)),
      };
      vectors[place].values[0] = bad;
      const y = kernels.vector(9 * 16);
      const { keys, values, queries } = vectors;
      kernels.run([
        { kind: 'store', cache, keys, values, position: 0 },
        { kind: 'attention', cache, queries, y, heads: 1, position: 0, scale: 1 },
      ]);
      assert.ok(Number.isNaN(y.values[0]), `${kernels.instructionSet}, ${place} ${bad}`);
    }
  }
});

testNative('a token attends alike alone and among others, bit by bit', () => {
  // Parts of queryRows / group tokens are processed together (native/kernels/table.hpp): fewer, one part, several.
  const parts = [1, 2, 5, 12, 40, 97];
  const ways = [
    ...natives.flatMap((kernels) => [undefined, 'singly' as const].map((multiplied) => ({ kernels, multiplied }))),
    ...rounding.flatMap((kernels) => MULTIPLIED.map((multiplied) => ({ kernels, multiplied }))),
  ];
  fc.assert(
    fc.property(fc.oneof(attentionCases, roundedCases), (drawn) => {
      const one = { ...drawn, before: 30, tokens: 97 };
      for (const { kernels, multiplied } of ways) {
        const { type, kvHeads, headSize, before, tokens, window } = one;
        const { length, heads, scale, keys, values, queries } = attentionVectors(kernels, one);
        const cache = kernels.cache({ type, kvHeads, capacity: length, headSize });
        kernels.run([{ kind: 'store', cache, keys, values, position: 0 }]);
        const width = heads * headSize;
        const [first, ...others] = parts.map((count) => {
          const y = kernels.vector(tokens * width);
          for (let from = 0; from < tokens; from += count) {
            const to = Math.min(tokens, from + count);
            const [own, its] = [queries, y].map((vector) => vector.slice(from * width, to * width));
            const place = { position: before + from, window, scale, multiplied };
            const operation = { kind: 'attention', cache, heads, ...place } as const;
            kernels.run([{ ...operation, queries: own as Vector, y: its as Vector }]);
          }
          return [...y.values];
        });
        for (const [index, found] of others.entries())
          assert.equal(
            found,
            first,
            `${kernels.instructionSet}, ${multiplied}, ${type}, ${parts[index + 1]} at a time`,
          );
        kernels.freeCache(cache);
      }
    }),
    { seed: 8, numRuns: 8 },
  );
});

test('fewer than eight tokens attend as each does alone, and more as many do', () => {
  const [kernels] = rounding;
  if (kernels === undefined) return;
  const [headSize, length] = [16, 80];
  const one = { kvHeads: 1, group: 2, headSize, before: length - 8, tokens: 8, seed: 5 };
  const { heads, scale, keys, values, queries } = attentionVectors(kernels, one);
  const cache = kernels.cache({ type: 'F16', kvHeads: 1, capacity: length, headSize });
  kernels.run([{ kind: 'store', cache, keys, values, position: 0 }]);
  const found = (tokens: number, multiplied?: Multiplied): number[] => {
    const y = kernels.vector(tokens * heads * headSize);
    const own = queries.slice(0, y.values.length);
    kernels.run([{ kind: 'attention', cache, queries: own, y, heads, position: one.before, scale, multiplied }]);
    return [...y.values];
  };
  assert.equal(found(7), found(7, 'singly'));
  assert.equal(found(8), found(8, 'together'));
  assert.not.equal(found(8, 'singly'), found(8, 'together'));
});

test.run();
