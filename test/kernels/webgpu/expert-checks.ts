import * as assert from 'uvu/assert';
import { quantize } from '../../../engine/gguf/formats/formats.ts';
import type { Kernels } from '../../../engine/kernels/kernels.ts';
import type { Multiplied } from '../../../engine/kernels/multiplied.ts';
import { openKernels } from '../../../engine/kernels/open-kernels.ts';
import type { Operation } from '../../../engine/kernels/operation.ts';
import type { Vector } from '../../../engine/kernels/vector.ts';
import { ROUTER_SCORES, type Router, type RouterScores } from '../../../engine/model/feed-forward.ts';
import type { Quantization } from '../../../engine/model/quantization.ts';
import { nmse } from '../../runtime/nmse.ts';
import type { GpuCheck } from '../../support/gpu-variants.ts';
import { randomFrom, randomValues } from '../random-from.ts';
import { wholeNumberActivations, wholeNumberRows } from '../whole-number-rows.ts';

const reference = openKernels({ implementation: 'reference' });

/** Values that an operation writes to `y`, by these kernels and by the reference. */
async function both(
  kernels: Kernels,
  run: (kernels: Kernels) => Vector,
): Promise<{ readonly found: number[]; readonly expected: number[] }> {
  const y = run(kernels);
  await kernels.read(y);
  return { found: [...y.values], expected: [...run(reference).values] };
}

interface RouteCase {
  readonly router: Omit<Router, 'scores'>;
  readonly tokens: number;
  readonly bias?: true;
  readonly scaled?: true;
}

const ROUTES: readonly RouteCase[] = [
  { router: { experts: 5, used: 2, normalised: true }, tokens: 3 },
  { router: { experts: 8, used: 8, normalised: false, factor: 2.5 }, tokens: 1, bias: true, scaled: true },
  { router: { experts: 1, used: 1, normalised: true }, tokens: 1 },
  { router: { experts: 24, used: 3, normalised: true, groups: { count: 6, used: 2 } }, tokens: 20, scaled: true },
  { router: { experts: 256, used: 8, normalised: true, groups: { count: 8, used: 4 } }, tokens: 3, bias: true },
  { router: { experts: 12, used: 4, normalised: false, groups: { count: 12, used: 5 } }, tokens: 2 },
  { router: { experts: 700, used: 64, normalised: true, factor: 0.5 }, tokens: 2, bias: true },
];

/** The experts and weights of choices. */
function choicesOf(routes: readonly number[]): { readonly experts: number[]; readonly weights: number[] } {
  return {
    experts: routes.filter((_, i) => i % 2 === 0),
    weights: routes.filter((_, i) => i % 2 === 1),
  };
}

const router: readonly GpuCheck[] = ROUTER_SCORES.map((scores) => ({
  name: `routes by ${scores} have the reference’s experts and weights`,
  on: 'variants',
  async check(kernels) {
    for (const [index, one] of ROUTES.entries()) {
      const { experts, used } = one.router;
      const random = randomFrom(index + 1);
      const [logits, bias] = [randomValues(random, one.tokens * experts, 4), randomValues(random, experts, 0.3)];
      const { found, expected } = await both(kernels, (each) => {
        const y = each.vector(one.tokens * used * 2);
        const biased = one.bias && { bias: each.vector(bias) };
        const scaled = one.scaled && { scales: each.vector(bias.map((value) => 2 + value)) };
        each.run([
          { kind: 'route', x: each.vector(logits), y, ...biased, ...scaled, router: { scores, ...one.router } },
        ]);
        return y;
      });
      const [own, exact] = [choicesOf(found), choicesOf(expected)];
      assert.equal(own.experts, exact.experts, `case ${index}`);
      for (const [i, weight] of exact.weights.entries())
        assert.ok(Math.abs((own.weights[i] as number) - weight) <= 2e-6 * weight, `case ${index}: ${own.weights[i]}`);
    }
  },
}));

const chosen: GpuCheck = {
  name: 'equal scores go to the lower expert, NaN is as low as −∞, and a bias changes the choice alone',
  on: 'variants',
  async check(kernels) {
    const expertsOf = async (x: readonly number[], scores: RouterScores, more: Partial<Operation> = {}) => {
      const y = kernels.vector(2 * 4);
      const router = { experts: 6, used: 4, scores, normalised: false };
      kernels.run([{ kind: 'route', x: kernels.vector(x), y, router, ...more } as Operation]);
      await kernels.read(y);
      return choicesOf([...y.values]);
    };
    const { NaN: none, NEGATIVE_INFINITY: lowest } = Number;
    assert.equal((await expertsOf([1, 2, 1, 2, 0, 1], 'sigmoid')).experts, [1, 3, 0, 2]);
    assert.equal((await expertsOf([none, -5, none, 3, none, none], 'sigmoid')).experts, [3, 1, 0, 2]);
    assert.equal((await expertsOf([none, lowest, 0, none, -0, none], 'logits')).experts, [2, 4, 0, 1]);
    const bias = kernels.vector([0, 0, 0, 0, 3, 0]);
    const biased = await expertsOf([0, 0, 0, 0, 0, 0], 'sigmoid', { bias });
    assert.equal(biased.experts, [4, 0, 1, 2]);
    assert.equal(biased.weights, [0.5, 0.5, 0.5, 0.5]);
    // Groups 1 and 2, of 3 + 3 and 0 + 5; group 0 has the largest but one.
    const groups = { count: 3, used: 2 };
    const router = { experts: 6, used: 4, scores: 'logits', normalised: false, groups } as const;
    assert.equal((await expertsOf([4, 0, 3, 3, 0, 5], 'logits', { router })).experts, [5, 2, 3, 4]);
  },
};

const COLUMNS = 256;
const EXPERTS = 5;

interface ProductCase {
  readonly type: Quantization;
  readonly tokens: number;
  readonly used: number;
  /** Rows of an expert; of a half, a matrix has twice as many. */
  readonly rows: number;
  readonly half?: 0 | 1;
  /** Whether each choice has activations of its own. */
  readonly own: boolean;
  readonly multiplied?: Multiplied;
  readonly columns?: number;
}

/** Expert numbers of choices: each token's differ, and one expert is never chosen. */
function routesOf(tokens: number, used: number, random: () => number): number[] {
  return Array.from({ length: tokens }, () => {
    const first = Math.floor((EXPERTS - 1) * random());
    return Array.from({ length: used }, (_, i) => [(first + i) % (EXPERTS - 1), random()]).flat();
  }).flat();
}

/** Products of whole numbers, which are exact whatever the order of sums. */
function expertProduct(kernels: Kernels, one: ProductCase): Vector {
  const { type, tokens, used, rows, half, own, multiplied, columns = COLUMNS } = one;
  const random = randomFrom(12);
  const stride = half === undefined ? rows : 2 * rows;
  const source = wholeNumberRows(type, EXPERTS * stride * columns, random);
  const rowBytes = source.length / (EXPERTS * stride);
  const matrixRows = (EXPERTS - 1) * stride + rows;
  const offset = (half ?? 0) * rows * rowBytes;
  const matrix = kernels.matrix({ source, offset, type, rows: matrixRows, columns });
  const routes = kernels.vector(routesOf(tokens, used, random));
  const x = kernels.vector(wholeNumberActivations(tokens * (own ? used : 1) * columns, random));
  const bias = kernels.vector(wholeNumberActivations(EXPERTS * rows, random));
  const y = kernels.vector(new Float32Array(tokens * used * rows).fill(9));
  const operation = { kind: 'multiply-experts', matrix, experts: EXPERTS, rows, routes, used, x, y } as const;
  kernels.run([{ ...operation, ...(half !== 0 && { bias }), multiplied }]);
  return y;
}

/** By number of tokens: one for each choice, and sorted; rows that aren't whole tiles or, of five, whole vectors. */
const productsIn = (type: Quantization): readonly ProductCase[] => [
  { type, tokens: 1, used: 2, rows: 8, own: false },
  { type, tokens: 3, used: 2, rows: 72, half: 0, own: false },
  { type, tokens: 3, used: 3, rows: 5, half: 1, own: true },
  { type, tokens: 20, used: 4, rows: 72, half: 1, own: false },
  { type, tokens: 50, used: 2, rows: 5, own: true },
  { type, tokens: 2, used: 2, rows: 8, own: false, multiplied: 'together' },
  { type, tokens: 9, used: 2, rows: 8, own: true, multiplied: 'singly' },
];

const exactProducts = (on: GpuCheck['on'], formats: readonly Quantization[]): GpuCheck[] =>
  formats.map((type) => ({
    name: `${type}: whole numbers give the exact products of experts${on === 'plain' ? '' : `, ${on}`}`,
    on,
    async check(kernels) {
      for (const one of productsIn(type)) {
        const { found, expected } = await both(kernels, (each) => expertProduct(each, one));
        assert.equal(found, expected, JSON.stringify(one));
      }
    },
  }));

const unevenColumns: GpuCheck = {
  name: 'products of experts whose rows are no whole groups of the shaders are exact',
  on: 'plain',
  async check(kernels) {
    for (const tokens of [2, 20]) {
      const one = { type: 'F16', tokens, used: 2, rows: 6, own: false, columns: 77 } as const;
      const { found, expected } = await both(kernels, (each) => expertProduct(each, one));
      assert.equal(found, expected, `${tokens} tokens`);
    }
  },
};

const oneExpert: GpuCheck = {
  name: 'a layer of one expert is a product, and experts that there are none of are the first',
  on: 'plain',
  async check(kernels) {
    const source = new Uint8Array(Float32Array.of(1, 2, 3, 4, 5, 6, 7, 8).buffer);
    const product = async (rows: number, experts: number, routes: number[], multiplied: Multiplied) => {
      const matrix = kernels.matrix({ source, type: 'F32', rows: rows * experts, columns: 2 });
      const y = kernels.vector((routes.length / 2) * rows);
      const [x, chosen] = [kernels.vector([1, 10]), kernels.vector(routes)];
      const used = routes.length / 2;
      kernels.run([{ kind: 'multiply-experts', matrix, experts, rows, routes: chosen, used, x, y, multiplied }]);
      await kernels.read(y);
      return [...y.values];
    };
    for (const way of ['singly', 'together'] as const) {
      assert.equal(await product(4, 1, [0, 1], way), [21, 43, 65, 87]);
      assert.equal(await product(2, 2, [1, 1, 2, 1, -1, 1, 1e20, 1], way), [65, 87, 21, 43, 21, 43, 21, 43]);
    }
  },
};

const alone = (on: GpuCheck['on']): GpuCheck => ({
  name: `a token has the same products of experts alone and among many, ${on}`,
  on,
  async check(kernels) {
    const [tokens, used, rows] = [20, 3, 8];
    for (const type of ['Q8_0', 'F16'] as const)
      for (const multiplied of ['singly', 'together'] as const) {
        const random = randomFrom(13);
        const weights = Float32Array.from(randomValues(random, EXPERTS * rows * COLUMNS));
        const matrix = kernels.matrix({
          source: quantize(type, weights),
          type,
          rows: EXPERTS * rows,
          columns: COLUMNS,
        });
        const routes = kernels.vector(routesOf(tokens, used, random));
        const x = kernels.vector(randomValues(random, tokens * COLUMNS));
        const [all, one] = [kernels.vector(tokens * used * rows), kernels.vector(used * rows)];
        const common = { kind: 'multiply-experts', matrix, experts: EXPERTS, rows, used, multiplied } as const;
        const last = {
          x: x.slice((tokens - 1) * COLUMNS, tokens * COLUMNS),
          routes: routes.slice((tokens - 1) * used * 2, tokens * used * 2),
        };
        kernels.run([
          { ...common, routes, x, y: all },
          { ...common, ...last, y: one },
        ]);
        await kernels.read(all);
        await kernels.read(one);
        assert.equal([...all.values.slice(-used * rows)], [...one.values], `${type}, ${multiplied}`);
      }
  },
});

const combined: GpuCheck = {
  name: 'what experts give is added by weight, to nothing or to what y had, and rows are gated',
  on: 'plain',
  async check(kernels) {
    const y = kernels.vector([100, 200, 300, 400]);
    const x = kernels.vector([1, 2, 10, 20, 3, 4, 30, 40]);
    const routes = kernels.vector([3, 0.5, 0, 2, 1, 0.25, 2, 1]);
    kernels.run([{ kind: 'combine-experts', x, routes, used: 2, y, accumulate: true }]);
    await kernels.read(y);
    assert.equal([...y.values], [120.5, 241, 330.75, 441]);
    kernels.run([
      { kind: 'combine-experts', x, routes, used: 2, y },
      { kind: 'gate-rows', gate: kernels.vector([0, 1000]), y },
    ]);
    await kernels.read(y);
    assert.equal([...y.values], [10.25, 20.5, 30.75, 41]);
  },
};

/** A layer's experts, from its norm to what is added to the residual connection. */
function layer(kernels: Kernels, tokens: number) {
  const [columns, inner, used] = [COLUMNS, 64, 2];
  const vector = (length: number, seed: number) => kernels.vector(randomValues(randomFrom(seed), length, 2));
  const matrix = (type: Quantization, rows: number, width: number, seed: number) => {
    const weights = Float32Array.from(randomValues(randomFrom(seed), rows * width, 0.5));
    return kernels.matrix({ source: quantize(type, weights), type, rows, columns: width });
  };
  const [x, h] = [vector(tokens * columns, 1), vector(tokens * columns, 2)];
  const [logits, routes] = [kernels.vector(tokens * EXPERTS), kernels.vector(tokens * used * 2)];
  const [gate, up] = [kernels.vector(tokens * used * inner), kernels.vector(tokens * used * inner)];
  const given = kernels.vector(tokens * used * columns);
  const chosen = { kind: 'multiply-experts', experts: EXPERTS, routes, used } as const;
  const biasOf = (rows: number, seed: number) => vector(EXPERTS * rows, seed);
  const router = { experts: EXPERTS, used, scores: 'logits', normalised: true } as const;
  const operations: Operation[] = [
    { kind: 'rms-norm', x, weight: vector(columns, 3), y: h, epsilon: 1e-5 },
    { kind: 'multiply', matrix: matrix('F32', EXPERTS, columns, 4), x: h, y: logits },
    { kind: 'route', x: logits, y: routes, router },
    ...[{ ...chosen, matrix: matrix('MXFP4', EXPERTS * inner, columns, 5), rows: inner, x: h, y: gate }],
    {
      ...chosen,
      matrix: matrix('Q4_K', EXPERTS * inner, columns, 6),
      rows: inner,
      x: h,
      y: up,
      bias: biasOf(inner, 7),
    },
    { kind: 'gate', activation: 'clamped-silu', gate, up, y: gate },
    { ...chosen, matrix: matrix('Q8_0', EXPERTS * columns, inner, 8), rows: columns, x: gate, y: given },
    { kind: 'combine-experts', x: given, routes, used, y: x, accumulate: true },
  ];
  return { operations, results: [routes, given, x] };
}

/** Errors of sums in float32, and of activations in 8 bits, twice and multiplied by one another. */
const LAYER_NMSE = { plain: 1e-10, rounded: 5e-4 };

const layers = (on: keyof typeof LAYER_NMSE): GpuCheck => ({
  name: `the experts of a layer, run or prepared, are near the reference’s, ${on}`,
  on,
  async check(kernels) {
    for (const tokens of [1, 3, 20]) {
      const [found, again, exact] = [layer(kernels, tokens), layer(kernels, tokens), layer(reference, tokens)];
      kernels.run(found.operations);
      kernels.prepare?.(again.operations).run([], 0);
      reference.run(exact.operations);
      for (const [i, result] of exact.results.entries()) {
        const [own, prepared] = [found.results[i] as Vector, again.results[i] as Vector];
        await kernels.read(own);
        await kernels.read(prepared);
        const error = nmse(own.values, result.values);
        assert.ok(error < LAYER_NMSE[on], `${tokens} tokens, result ${i}: ${error}`);
        assert.equal([...prepared.values], [...own.values], `${tokens} tokens, result ${i}, prepared`);
      }
    }
  },
});

/** Mixtures of experts: choices, products with their rows, and sums. */
export const EXPERT_CHECKS: readonly GpuCheck[] = [
  ...router,
  chosen,
  ...exactProducts('plain', ['F32', 'Q4_K', 'MXFP4']),
  ...exactProducts('rounded', ['F16', 'Q8_0', 'Q4_K']),
  ...exactProducts('rounded, by workgroups', ['Q4_K']),
  ...exactProducts('best', ['Q4_K']),
  ...exactProducts('variants', ['Q8_0']),
  ...[unevenColumns, oneExpert, combined],
  ...(['plain', 'rounded'] as const).flatMap((on) => [alone(on), layers(on)]),
];
