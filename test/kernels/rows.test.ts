import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Kernels } from '../../engine/kernels/kernels.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import type { Operation } from '../../engine/kernels/operation.ts';
import { ropeAngles } from '../../engine/kernels/rope-angles.ts';
import type { Vector } from '../../engine/kernels/vector.ts';
import { ACTIVATIONS } from '../../engine/model/feed-forward.ts';
import { near } from '../support/near.ts';
import { NATIVE_SETS, testNative } from './native-sets.ts';
import { randomFrom, randomValues } from './random-from.ts';

const reference = openKernels({ implementation: 'reference' });
const natives = NATIVE_SETS.map((instructionSet) =>
  openKernels({ implementation: 'native', instructionSet, threads: 2 }),
);

test('the RMS norm of (3, 4) divides by √12.5', () => {
  const y = reference.vector(2);
  const [x, weight] = [reference.vector([3, 4]), reference.vector([1, 2])];
  reference.run([{ kind: 'rms-norm', x, weight, y, epsilon: 0 }]);
  near(y.values[0] as number, 3 / Math.sqrt(12.5), 1e-7);
  near(y.values[1] as number, 8 / Math.sqrt(12.5), 1e-7);
});

test('an RMS norm of rows of 2 takes the weights of two groups in turn', () => {
  for (const kernels of [reference, ...natives]) {
    const y = kernels.vector([3, 4, 5, 12, 4, 3, 12, 5]);
    const weight = kernels.vector([1, 2, 10, 20]);
    kernels.run([{ kind: 'rms-norm', x: y, weight, y, epsilon: 0, width: 2 }]);
    const exact = [3, 8, 50, 240, 4, 6, 120, 100].map((value, i) => value / Math.sqrt(i % 4 < 2 ? 12.5 : 84.5));
    for (const [i, expected] of exact.entries()) near(y.values[i] as number, expected, 1e-6);
    for (const width of [3, 0])
      assert.throws(
        () => kernels.run([{ kind: 'rms-norm', x: y, weight, y, epsilon: 0, width }]),
        /rms-norm: weight has 4 values; a multiple of/,
      );
  }
});

test('rope rotates (1, 0) by 90 degrees to (0, 1), with adjacent pairs and with halves', () => {
  const angles = reference.vector([0, 1, 1, 0]);
  for (const [pairs, expected] of [
    ['adjacent', [0, 1, 5, 7]],
    ['halves', [-5, 0, 1, 7]],
  ] as const) {
    const x = reference.vector([1, 0, 5, 7]);
    reference.run([{ kind: 'rope', x, angles, heads: 1, headSize: 4, pairs }]);
    assert.equal([...x.values], expected, pairs);
  }
});

test('rope angles are θ₀ = position and θ₁ = position/100 at base 10⁴ and 4 dimensions, divided by factors', () => {
  const angles = new Float32Array(4);
  ropeAngles({ dimensions: 4, base: 10_000, factors: [1, 8] }, 6, angles);
  const expected = [Math.cos(6), Math.sin(6), Math.cos(0.06 / 8), Math.sin(0.06 / 8)];
  for (const [i, value] of angles.entries()) near(value, expected[i] as number, 1e-7);
});

test('silu gives 0 for a gate of 0, passes a large gate and blocks a very negative one', () => {
  const y = reference.vector(3);
  const [gate, up] = [reference.vector([0, 50, -50]), reference.vector([7, 2, 2])];
  reference.run([{ kind: 'gate', activation: 'silu', gate, up, y }]);
  near(y.values[0] as number, 0);
  near(y.values[1] as number, 100);
  near(y.values[2] as number, 0, 1e-18);
});

test('gelu, a factor, a scale and a soft cap have known values', () => {
  for (const kernels of [reference, ...natives]) {
    const run = (values: readonly number[], operation: (y: Vector) => Operation): number[] => {
      const y = kernels.vector(values);
      kernels.run([operation(y)]);
      return [...y.values];
    };
    const gated = run([1, -1, 0, 3e38, -3e38, Number.NEGATIVE_INFINITY, Number.NaN], (gate) => {
      const up = kernels.vector([1, 2, 1, 1, 1, 1, 1]);
      return { kind: 'gate', activation: 'gelu', gate, up, y: gate };
    });
    // 0.5·(1 + tanh(√(2/π)·1.044715)) = 0.8411919906
    for (const [i, expected] of [0.841191990608, -0.317616018784, 0, 3e38, 0, 0].entries())
      near(gated[i] as number, expected, Math.max(1e-6, Math.abs(expected) * 1e-6));
    assert.ok(Number.isNaN(gated[6]));
    assert.equal(
      run([1, 2], (y) => ({ kind: 'add', x: kernels.vector([8, -4]), y, factor: 0.25 })),
      [3, 1],
    );
    assert.equal(
      run([1, -6], (y) => ({ kind: 'scale', y, factor: 0.5 })),
      [0.5, -3],
    );
    const capped = run([0, 1e-4, -30, 3e38, Number.NEGATIVE_INFINITY, Number.NaN], (y) => ({
      kind: 'soft-cap',
      y,
      cap: 30,
    }));
    for (const [i, expected] of [0, 1e-4, -30 * Math.tanh(1), 30, -30].entries())
      near(capped[i] as number, expected, Math.abs(expected) * 1e-6);
    assert.ok(Number.isNaN(capped[5]));
    for (const cap of [0, -1, Number.NaN, Number.POSITIVE_INFINITY])
      assert.throws(() => run([1], (y) => ({ kind: 'soft-cap', y, cap })), /soft-cap: a cap of/);
    assert.throws(() => run([1], (y) => ({ kind: 'scale', y, factor: Number.NaN })), /scale: a factor of NaN/);
  }
});

test('sigmoid, relu and identity have known values, with gate, up and result in one vector too', () => {
  const gates = [0, Math.log(3), -2, 60, -60, Number.NaN];
  for (const [activation, gated, ofItself] of [
    ['sigmoid', [1, 2 * 0.75, 3 / (1 + Math.exp(2)), 4, 0], [0, Math.log(3) * 0.75, -2 / (1 + Math.exp(2)), 60, 0]],
    ['relu', [0, 2 * Math.log(3), 0, 240, 0], [0, Math.log(3) ** 2, 0, 3600, 0]],
    ['identity', [0, 2 * Math.log(3), -6, 240, -300], [0, Math.log(3) ** 2, 4, 3600, 3600]],
  ] as const)
    for (const kernels of [reference, ...natives]) {
      const [gate, up, y] = [kernels.vector(gates), kernels.vector([2, 2, 3, 4, 5, 6]), kernels.vector(6)];
      kernels.run([{ kind: 'gate', activation, gate, up, y }]);
      kernels.run([{ kind: 'gate', activation, gate, up: gate, y: gate }]);
      for (const [{ values }, exact] of [[y, gated] as const, [gate, ofItself] as const]) {
        for (const [i, expected] of exact.entries()) near(values[i] as number, expected, 1e-6);
        assert.ok(Number.isNaN(values[5]), `${kernels.instructionSet}, ${activation}`);
      }
    }
});

test('softmax of the rows (0, ln 3) and (1000, 1000) is (1/4, 3/4) and (1/2, 1/2)', () => {
  const y = reference.vector(4);
  reference.run([{ kind: 'softmax', x: reference.vector([0, Math.log(3), 1000, 1000]), y, width: 2 }]);
  for (const [i, expected] of [0.25, 0.75, 0.5, 0.5].entries()) near(y.values[i] as number, expected, 1e-7);
});

/**
 * Runs the operations of `build` on the reference and on every instruction set, and compares the vector that it names:
 * relative to the values, or to `floor` if they are smaller because larger terms cancelled.
 */
function same(
  tolerance: number,
  floor: number,
  build: (kernels: Kernels) => { operations: Operation[]; y: Vector },
): void {
  const [expected, ...found] = [reference, ...natives].map((kernels) => {
    const { operations, y } = build(kernels);
    kernels.run(operations);
    return y.values;
  });
  for (const [i, values] of found.entries()) {
    for (const [j, value] of values.entries()) {
      const exact = expected?.[j] as number;
      const close = Math.abs(value - exact) <= tolerance * Math.max(Math.abs(exact), floor);
      assert.ok(close, `${NATIVE_SETS[i]}: ${value} is not ${exact}`);
    }
  }
}

const rows = fc.record({
  width: fc.integer({ min: 1, max: 70 }),
  count: fc.integer({ min: 1, max: 5 }),
  groups: fc.integer({ min: 1, max: 3 }),
  activation: fc.constantFrom(...ACTIVATIONS.filter((one) => one !== 'clamped-silu')),
  seed: fc.integer({ min: 1, max: 2 ** 30 }),
});

testNative('every instruction set norms, gates, adds and normalises like the reference', () => {
  fc.assert(
    fc.property(rows, ({ width, count, groups, seed, activation }) => {
      const random = randomFrom(seed);
      const [a, b] = [randomValues(random, width * count, 20), randomValues(random, width * count, 20)];
      const grouped = randomValues(random, groups * width * count, 20);
      const weights = randomValues(random, groups * width, 2);
      same(1e-6, 1e-6, (kernels) => {
        const y = kernels.vector(grouped.length);
        const weight = kernels.vector(weights);
        return { operations: [{ kind: 'rms-norm', x: kernels.vector(grouped), weight, y, epsilon: 1e-5, width }], y };
      });
      // The exponent of gelu reaches 20 where the result isn't below the floor, and its rounding is relative to that.
      same(activation === 'gelu' ? 3e-6 : 1e-6, 1e-6, (kernels) => {
        const y = kernels.vector(width * count);
        return { operations: [{ kind: 'gate', activation, gate: kernels.vector(a), up: kernels.vector(b), y }], y };
      });
      same(1e-6, 1e-6, (kernels) => {
        const y = kernels.vector(a);
        return { operations: [{ kind: 'soft-cap', y, cap: 7 }], y };
      });
      same(1e-6, 1, (kernels) => {
        const y = kernels.vector(b);
        return { operations: [{ kind: 'add', x: kernels.vector(a), y, factor: 0.22 }], y };
      });
      same(1e-6, 0, (kernels) => {
        const y = kernels.vector(b);
        return { operations: [{ kind: 'scale', y, factor: 0.22 }], y };
      });
      same(1e-5, 1e-9, (kernels) => {
        const y = kernels.vector(width * count);
        return { operations: [{ kind: 'softmax', x: kernels.vector(a), y, width }], y };
      });
      same(0, 0, (kernels) => {
        const y = kernels.vector(b);
        return { operations: [{ kind: 'add', x: kernels.vector(a), y }], y };
      });
    }),
    { seed: 4, numRuns: 60 },
  );
});

testNative('every instruction set turns heads like the reference, also where only part of a head is turned', () => {
  const heads = fc.record({
    heads: fc.integer({ min: 1, max: 5 }),
    pairs: fc.integer({ min: 1, max: 20 }),
    rest: fc.integer({ min: 0, max: 9 }),
    tokens: fc.integer({ min: 1, max: 4 }),
    order: fc.constantFrom('adjacent' as const, 'halves' as const),
  });
  fc.assert(
    fc.property(heads, ({ heads, pairs, rest, tokens, order }) => {
      const headSize = 2 * pairs + rest;
      const values = randomValues(randomFrom(pairs), tokens * heads * headSize);
      same(2e-7, 1, (kernels) => {
        const [y, angles] = [kernels.vector(values), kernels.vector(tokens * 2 * pairs)];
        ropeAngles({ dimensions: 2 * pairs, base: 10_000 }, 5, angles.values);
        return { operations: [{ kind: 'rope', x: y, angles, heads, headSize, pairs: order }], y };
      });
    }),
    { seed: 5, numRuns: 60 },
  );
});

test('columns are copied to other columns, and to several rows', () => {
  for (const kernels of [reference, ...natives]) {
    const [values, y] = [kernels.vector([1, 2, 3, 4, 5, 6]), kernels.vector(8)];
    const x = { values, width: 3, first: 1 };
    kernels.run([{ kind: 'copy-columns', x, y: { values: y, width: 4, first: 0 }, columns: 2 }]);
    assert.equal([...y.values], [2, 3, 0, 0, 5, 6, 0, 0], kernels.instructionSet);
    const repeated = { values: y, width: 2, first: 1 };
    kernels.run([{ kind: 'copy-columns', x, y: repeated, columns: 1, repeats: 2 }]);
    assert.equal([...y.values], [2, 2, 0, 2, 5, 5, 0, 5], kernels.instructionSet);
  }
});

testNative('many rows and columns are copied as by the reference', () => {
  const random = randomFrom(31);
  for (const [rows, columns, repeats] of [
    [1, 9_000, 1],
    [90, 33, 3],
  ] as const) {
    const [from, to] = [
      randomValues(random, rows * (columns + 7)),
      randomValues(random, rows * repeats * (columns + 5)),
    ];
    const copied = (kernels: Kernels): number[] => {
      const y = kernels.vector(to);
      kernels.run([
        {
          kind: 'copy-columns',
          x: { values: kernels.vector(from), width: columns + 7, first: 3 },
          y: { values: y, width: columns + 5, first: 5 },
          ...{ columns, repeats },
        },
      ]);
      return [...y.values];
    };
    for (const kernels of natives) assert.equal(copied(kernels), copied(reference));
  }
});

test('columns that rows don’t have, and rows without a source, are refused', () => {
  for (const kernels of [reference, ...natives]) {
    const [four, two] = [kernels.vector(4), kernels.vector(2)];
    const place = { values: four, width: 2, first: 1 };
    assert.throws(
      () => kernels.run([{ kind: 'copy-columns', x: place, y: place, columns: 2 }]),
      /copy-columns: columns 1 to 2 of x/,
    );
    const wide = { values: two, width: 2, first: 0 };
    assert.throws(
      () => kernels.run([{ kind: 'copy-columns', x: place, y: wide, columns: 1 }]),
      /copy-columns: y has 1 values; 2 are needed/,
    );
  }
});

test.run();
