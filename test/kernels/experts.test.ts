import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { quantize } from '../../engine/gguf/formats/formats.ts';
import type { Kernels } from '../../engine/kernels/kernels.ts';
import type { Matrix } from '../../engine/kernels/matrix.ts';
import type { Multiplied } from '../../engine/kernels/multiplied.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import type { Operation } from '../../engine/kernels/operation.ts';
import type { Vector } from '../../engine/kernels/vector.ts';
import { ACTIVATIONS } from '../../engine/model/feed-forward.ts';
import { QUANTIZATIONS, type Quantization, quantizedBytes } from '../../engine/model/quantization.ts';
import { near } from '../support/near.ts';
import { NATIVE_SETS, testNative } from './native-sets.ts';
import { randomFrom, randomValues } from './random-from.ts';
import { wholeNumberActivations, wholeNumberRows } from './whole-number-rows.ts';

const reference = openKernels({ implementation: 'reference' });
const open = (instructionSet: string, threads = 2): Kernels =>
  openKernels({ implementation: 'native', instructionSet, threads });
const natives = NATIVE_SETS.map((set) => open(set));
const FORMATS = ['F32', 'F16', 'Q8_0', 'Q4_K', 'MXFP4'] as const;
const TOKENS = [1, 3, 20, 65];

/** A layer of experts, whose rows are the first of `stride`, and choices of experts by tokens. */
interface Mixture {
  readonly type: Quantization;
  readonly columns: number;
  readonly rows: number;
  readonly stride: number;
  readonly experts: number;
  readonly used: number;
  readonly source: Uint8Array;
  readonly biases: readonly number[];
}

const [EXPERTS, USED, ROWS] = [7, 3, 21];

function mixture(type: Quantization, random: () => number, bytes: (values: number) => Uint8Array): Mixture {
  const { block } = QUANTIZATIONS[type];
  const columns = block === 1 ? 45 : 2 * block;
  const stride = ROWS + 4;
  const source = bytes(((EXPERTS - 1) * stride + ROWS) * columns);
  const biases = Array.from({ length: EXPERTS * ROWS }, () => Math.floor(9 * random()) - 4);
  return { type, columns, rows: ROWS, stride, experts: EXPERTS, used: USED, source, biases };
}

/** Different experts of each token, some of them often, and weights. */
function randomRoutes(random: () => number, tokens: number): number[] {
  return Array.from({ length: tokens }, () => {
    const left = [...Array(EXPERTS).keys()];
    return Array.from({ length: USED }, () => {
      const [expert = 0] = left.splice(Math.floor(left.length * random() ** 2), 1);
      return [expert, random()];
    }).flat();
  }).flat();
}

interface Multiplying {
  readonly routes: ArrayLike<number>;
  readonly x: ArrayLike<number>;
  readonly biased?: boolean;
  readonly multiplied?: Multiplied | undefined;
}

/** Products of the choices with their experts: [choices][rows]. */
function products(kernels: Kernels, one: Mixture, { routes, x, biased = false, multiplied }: Multiplying): number[] {
  const { type, columns, rows, stride, experts, used, source } = one;
  const matrix = kernels.matrix({ source, type, rows: (experts - 1) * stride + rows, columns });
  const y = kernels.vector((routes.length / 2) * rows);
  const vectors = { routes: kernels.vector(routes), x: kernels.vector(x), y };
  const bias = biased ? { bias: kernels.vector(one.biases) } : {};
  kernels.run([{ kind: 'multiply-experts', matrix, experts, rows, used, ...vectors, ...bias, multiplied }]);
  return [...y.values];
}

for (const type of FORMATS) {
  testNative(`${type}: with whole numbers every instruction set gives the reference’s products with experts`, () => {
    const random = randomFrom(3);
    const one = mixture(type, random, (values) => wholeNumberRows(type, values, random));
    for (const tokens of TOKENS) {
      for (const inputs of [tokens, tokens * USED]) {
        const routes = randomRoutes(random, tokens);
        const x = wholeNumberActivations(inputs * one.columns, random);
        for (const biased of [false, true]) {
          const expected = products(reference, one, { routes, x, biased });
          for (const kernels of natives) {
            // Scaled weights of superblocks need more bits than bf16 has.
            if (kernels.instructionSet === 'amx' && QUANTIZATIONS[type].block === 256) continue;
            for (const multiplied of [undefined, 'singly', 'together'] as const) {
              const found = products(kernels, one, { routes, x, biased, multiplied });
              assert.equal(found, expected, `${kernels.instructionSet}, ${tokens} tokens, ${inputs} inputs`);
            }
          }
        }
      }
    }
  });

  testNative(`${type}: a choice has, bit by bit, the product of its expert alone, in any company`, () => {
    const random = randomFrom(4);
    const one = mixture(type, random, (values) => quantize(type, Float32Array.from(randomValues(random, values))));
    const tokens = 65;
    const routes = randomRoutes(random, tokens);
    const { columns, rows, stride, experts, source } = one;
    const x = randomValues(random, tokens * columns);
    for (const kernels of natives) {
      const bytes = quantizedBytes(columns, type);
      const matrices = Array.from({ length: experts }, (_, expert) =>
        kernels.matrix({ source: source.subarray(expert * stride * bytes), type, rows, columns }),
      );
      for (const multiplied of ['singly', 'together'] as const) {
        const expected = routes.flatMap((expert, at) => {
          if (at % 2 !== 0) return [];
          const token = Math.floor(at / 2 / USED);
          const [matrix, y] = [matrices[expert] as Matrix, kernels.vector(rows)];
          const own = kernels.vector(x.slice(token * columns, (token + 1) * columns));
          kernels.run([{ kind: 'multiply', matrix, x: own, y, multiplied }]);
          return [...y.values];
        });
        for (const [from, to] of [
          [0, 1],
          [3, 5],
          [2, 9],
          [20, 53],
          [0, tokens],
        ] as const) {
          const part = {
            routes: routes.slice(from * USED * 2, to * USED * 2),
            x: x.slice(from * columns, to * columns),
          };
          const found = products(kernels, one, { ...part, multiplied });
          const own = expected.slice(from * USED * rows, to * USED * rows);
          assert.equal(found, own, `${kernels.instructionSet}, tokens ${from} to ${to} ${multiplied}`);
        }
      }
    }
  });
}

testNative(
  'tokens are multiplied singly by default, and together where experts have more than they pack at once',
  () => {
    for (const type of ['Q8_0', 'F16'] as const) {
      const random = randomFrom(5);
      const one = mixture(type, random, (values) => quantize(type, Float32Array.from(randomValues(random, values))));
      for (const [tokens, multiplied] of [
        [3, 'singly'],
        [80, 'together'],
      ] as const) {
        const given = { routes: randomRoutes(random, tokens), x: randomValues(random, tokens * one.columns) };
        for (const kernels of natives)
          assert.equal(
            products(kernels, one, given),
            products(kernels, one, { ...given, multiplied }),
            `${kernels.instructionSet}, ${type}, ${tokens} tokens`,
          );
      }
    }
  },
);

testNative(
  'numbers of experts that there are not are taken for the first expert’s, and one may be chosen twice',
  () => {
    const random = randomFrom(6);
    const one = mixture(
      'F32',
      random,
      (values) => new Uint8Array(Float32Array.from(randomValues(random, values)).buffer),
    );
    for (const tokens of [1, 20]) {
      const wrong = [Number.NaN, -1, 1e9, EXPERTS, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 2, 2];
      const experts = Array.from({ length: tokens * USED }, (_, choice) => wrong[choice % wrong.length] as number);
      const right = experts.map((expert) => (expert >= 0 && expert < EXPERTS ? expert : 0));
      const x = randomValues(random, tokens * one.columns);
      const pairs = (numbers: number[]): number[] => numbers.flatMap((expert) => [expert, 1]);
      for (const kernels of natives)
        for (const multiplied of ['singly', 'together'] as const)
          assert.equal(
            products(kernels, one, { routes: pairs(experts), x, multiplied }),
            products(kernels, one, { routes: pairs(right), x, multiplied }),
            `${kernels.instructionSet}, ${tokens} tokens ${multiplied}`,
          );
    }
  },
);

test('weighted sums of choices, rows times their gates, and the clamped activation have known values', () => {
  for (const kernels of [reference, ...natives]) {
    const run = (y: Vector, operation: Operation): number[] => {
      kernels.run([operation]);
      return [...y.values];
    };
    const x = kernels.vector([1, 2, 3, 4, 5, 6, 7, 8]);
    const routes = kernels.vector([5, 0.5, 1, 2, 0, 1, 3, -1]);
    const combine = { kind: 'combine-experts', x, routes, used: 2 } as const;
    const sums = kernels.vector([100, 200, 300, 400]);
    assert.equal(run(sums, { ...combine, y: sums, accumulate: true }), [106.5, 209, 298, 398], kernels.instructionSet);
    assert.equal(run(sums, { ...combine, y: sums }), [6.5, 9, -2, -2], kernels.instructionSet);
    const y = kernels.vector([4, -4, 8, 2]);
    const gate = kernels.vector([0, Math.log(3)]);
    for (const [i, value] of run(y, { kind: 'gate-rows', gate, y }).entries()) near(value, [2, -2, 6, 1.5][i]!, 1e-6);
    const gates = kernels.vector([0, 9, 1, -100, Number.NaN, -3e38]);
    const up = kernels.vector([3, 8, -9, 1, 1, 1]);
    const clamped = run(gates, { kind: 'gate', activation: 'clamped-silu', gate: gates, up, y: gates });
    // 7/(1 + e^−11.914)·8 and 1/(1 + e^−1.702)·(−6).
    for (const [i, expected] of [0, 55.99962554, -5.07477474, 0].entries()) near(clamped[i]!, expected, 1e-5);
    assert.ok(Number.isNaN(clamped[4]));
    near(clamped[5]!, 0, 1e-30);
  }
});

testNative('every instruction set combines and gates rows like the reference', () => {
  const shapes = fc.record({
    tokens: fc.integer({ min: 1, max: 9 }),
    used: fc.integer({ min: 1, max: 9 }),
    width: fc.oneof(fc.integer({ min: 1, max: 80 }), fc.constantFrom(1000, 9000)),
    accumulate: fc.boolean(),
    activation: fc.constantFrom(...ACTIVATIONS),
    seed: fc.integer({ min: 1, max: 2 ** 30 }),
  });
  fc.assert(
    fc.property(shapes, ({ tokens, used, width, accumulate, activation, seed }) => {
      const random = randomFrom(seed);
      const [before, gates] = [randomValues(random, tokens * width), randomValues(random, tokens, 4)];
      const given = randomValues(random, tokens * used * width, 9);
      const chosen = randomValues(random, tokens * used * 2);
      const [expected, ...found] = [reference, ...natives].map((kernels) => {
        const [y, x, routes] = [kernels.vector(before), kernels.vector(given), kernels.vector(chosen)];
        kernels.run([
          { kind: 'gate', activation, gate: x, up: x, y: x },
          { kind: 'combine-experts', x, routes, used, y, accumulate },
          { kind: 'gate-rows', gate: kernels.vector(gates), y },
        ]);
        return y.values;
      });
      for (const values of found)
        for (const [at, value] of values.entries()) near(value, expected?.[at] as number, 2e-4);
    }),
    { seed: 22, numRuns: 40 },
  );
});

/** Operations of some layers, one after another in the same vectors, as a model has them. */
function layers(kernels: Kernels, tokens: number, multiplied: Multiplied | undefined) {
  const random = randomFrom(8);
  const [width, inner, count] = [64, 96, 6];
  const source = (rows: number, columns: number): Uint8Array =>
    quantize('Q8_0', Float32Array.from(randomValues(random, rows * columns, 0.4)));
  const matrix = (rows: number, columns: number): Matrix =>
    kernels.matrix({ source: source(rows, columns), type: 'Q8_0', rows, columns });
  const table = matrix(50, width);
  const vector = (columns: number): Vector => kernels.vector(tokens * columns);
  const [x, logits, routes] = [vector(width), vector(EXPERTS), vector(2 * USED)];
  const [gate, up, outputs] = [vector(USED * inner), vector(USED * inner), vector(USED * width)];
  const [shared, weight] = [vector(width), kernels.vector(new Float32Array(width).fill(1))];
  const router = { experts: EXPERTS, used: USED, scores: 'softmax', normalised: true } as const;
  const many = { experts: EXPERTS, routes, used: USED, multiplied };
  const operations: Operation[] = Array.from({ length: count }, () => {
    const [chooser, beside] = [matrix(EXPERTS, width), matrix(width, width)];
    const both = source(EXPERTS * 2 * inner, width);
    const half = (index: number): Matrix => {
      const place = { offset: index * inner * quantizedBytes(width, 'Q8_0'), rows: (EXPERTS * 2 - 1) * inner };
      return kernels.matrix({ source: both, type: 'Q8_0', columns: width, ...place });
    };
    const [down, last] = [matrix(EXPERTS * width, inner), matrix(EXPERTS * width, width)];
    return [
      { kind: 'rms-norm', x, weight, y: x, epsilon: 1e-5 },
      { kind: 'multiply', matrix: chooser, x, y: logits, multiplied },
      { kind: 'route', x: logits, y: routes, router },
      { kind: 'multiply', matrix: beside, x, y: shared, multiplied },
      { kind: 'multiply-experts', ...many, matrix: half(0), rows: inner, x, y: gate },
      { kind: 'multiply-experts', ...many, matrix: half(1), rows: inner, x, y: up },
      { kind: 'gate', activation: 'silu', gate, up, y: gate },
      { kind: 'multiply-experts', ...many, matrix: down, rows: width, x: gate, y: outputs },
      { kind: 'combine-experts', x: outputs, routes, used: USED, y: x, accumulate: true },
      { kind: 'add', x: shared, y: x },
      { kind: 'multiply-experts', ...many, matrix: last, rows: width, x, y: outputs },
      { kind: 'combine-experts', x: outputs, routes, used: USED, y: x, accumulate: true },
    ] as const satisfies readonly Operation[];
  }).flat();
  const embed = (ids: readonly number[]): Operation => ({ kind: 'embed', table, tokens: ids, y: x });
  return { embed, operations, x };
}

testNative('layers in one run on three threads, and prepared, give what they give one by one on one thread', () => {
  for (const tokens of [1, 3, 20]) {
    for (const multiplied of [undefined, 'singly', 'together'] as const) {
      const ids = Array.from({ length: tokens }, (_, i) => (7 * i) % 50);
      const results = [1, 3].map((threads) => {
        const kernels = open('auto', threads);
        const { embed, operations, x } = layers(kernels, tokens, multiplied);
        const all = [embed(ids), ...operations];
        if (threads === 1) for (const operation of all) kernels.run([operation]);
        else kernels.run(all);
        const found = [[...x.values]];
        const others = ids.map((id) => (id + 1) % 50);
        const prepared = kernels.prepare?.([embed(others), ...operations]);
        for (let run = 0; run < 3; run++) {
          prepared?.run(others, 0);
          prepared?.run(ids, 0);
          found.push([...x.values]);
        }
        kernels.close();
        return found;
      });
      for (const found of results.flat()) assert.equal(found, results[0]?.[0], `${tokens} tokens, ${multiplied}`);
    }
  }
});

testNative('the same values may be a row of each token for one product, and one of each choice for another', () => {
  const random = randomFrom(9);
  const [tokens, columns, rows] = [2, 64, 5];
  const wide = quantize('Q8_0', Float32Array.from(randomValues(random, EXPERTS * rows * columns * USED)));
  for (const kernels of natives)
    for (const multiplied of ['singly', 'together'] as const) {
      const x = kernels.vector(randomValues(random, tokens * USED * columns));
      const routes = kernels.vector(randomRoutes(random, tokens));
      const results = [true, false].map((atOnce) => {
        const ys: Vector[] = [];
        const operations = [columns * USED, columns].map((width): Operation => {
          const matrix = kernels.matrix({ source: wide, type: 'Q8_0', rows: EXPERTS * rows, columns: width });
          const y = kernels.vector(tokens * USED * rows);
          ys.push(y);
          return { kind: 'multiply-experts', matrix, experts: EXPERTS, rows, routes, used: USED, x, y, multiplied };
        });
        if (atOnce) kernels.run(operations);
        else for (const operation of operations) kernels.run([operation]);
        return ys.map(({ values }) => [...values]);
      });
      assert.equal(results[0], results[1], `${kernels.instructionSet} ${multiplied}`);
    }
});

test('numbers of experts multiply their products before biases are added', () => {
  for (const kernels of [reference, ...natives])
    for (const tokens of [1, 2, 40]) {
      const [experts, rows, columns] = [3, 2, 2];
      // Expert e multiplies by e + 1.
      const weights = Array.from({ length: experts }, (_, e) => [e + 1, 0, 0, e + 1]).flat();
      const source = new Uint8Array(Float32Array.from(weights).buffer);
      const matrix = kernels.matrix({ source, type: 'F32', rows: experts * rows, columns });
      const chosen = Array.from({ length: tokens }, (_, token) => token % experts);
      const routes = kernels.vector(chosen.flatMap((expert) => [expert, 1]));
      const x = kernels.vector(chosen.flatMap((_, token) => [token, 1]));
      const y = kernels.vector(tokens * rows);
      const [scales, bias] = [kernels.vector([2, 0, -4]), kernels.vector([1, 2, 3, 4, 5, 6])];
      kernels.run([{ kind: 'multiply-experts', matrix, experts, rows, routes, used: 1, x, y, scales, bias }]);
      const expected = chosen.flatMap((e, token) =>
        [token, 1].map((value, row) => ([2, 0, -4][e] as number) * (e + 1) * value + 2 * e + row + 1),
      );
      assert.equal([...y.values], expected, kernels.instructionSet);
    }
});

test('experts, choices and vectors that do not fit are refused', () => {
  for (const kernels of [reference, ...natives]) {
    const matrix = kernels.matrix({ source: new Uint8Array(4 * 8), type: 'F32', rows: 8, columns: 1 });
    const [routes, x, y] = [kernels.vector(8), kernels.vector(2), kernels.vector(8)];
    const one = { kind: 'multiply-experts', matrix, experts: 4, rows: 2, routes, used: 2, x, y } as const;
    kernels.run([one]);
    for (const [change, message] of [
      [{ rows: 9 }, /9 rows of an expert; the matrix has 8/],
      [{ experts: 5 }, /multiply-experts: matrix has 6 values; a multiple of 4/],
      [{ experts: 7 }, /7 experts of 2 rows in a matrix of 8/],
      [{ used: 3 }, /multiply-experts: routes has 8 values; a multiple of 6/],
      [{ x: kernels.vector(3) }, /multiply-experts: x has 3 values; 4 are needed/],
      [{ y: kernels.vector(9) }, /multiply-experts: y has 9 values; 8 are needed/],
      [{ bias: x }, /multiply-experts: bias has 2 values; 8 are needed/],
      [{ scales: x }, /multiply-experts: scales has 2 values; 4 are needed/],
    ] as const)
      assert.throws(() => kernels.run([{ ...one, ...change }]), message, kernels.instructionSet);
    const scaling: Operation = { kind: 'scale-experts', routes, scales: x, bias: x, y };
    assert.throws(() => kernels.run([scaling]), /scale-experts: bias has 2 values; 4 are needed/);
  }
});

test.run();
