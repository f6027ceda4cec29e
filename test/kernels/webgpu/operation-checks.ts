import * as assert from 'uvu/assert';
import type { Kernels } from '../../../engine/kernels/kernels.ts';
import { openKernels } from '../../../engine/kernels/open-kernels.ts';
import type { CachePage, Operation } from '../../../engine/kernels/operation.ts';
import { roundedAs } from '../../../engine/kernels/reference/attention.ts';
import type { Vector } from '../../../engine/kernels/vector.ts';
import { ACTIVATIONS } from '../../../engine/model/feed-forward.ts';
import { KV_FORMATS } from '../../../engine/model/kv-format.ts';
import { allFinite } from '../../../engine/runtime/pass/finite-logits.ts';
import type { GpuCheck } from '../../support/gpu-variants.ts';
import { type AttentionCase, attentionVectors } from '../attention-case.ts';
import { randomFrom, randomValues } from '../random-from.ts';

const reference = openKernels({ implementation: 'reference' });

/** Runs the same on both kernels, and compares the result relative to its largest value. */
async function same(
  kernels: Kernels,
  what: string,
  run: (kernels: Kernels) => Vector,
  tolerance = 2e-6,
): Promise<void> {
  const [found, expected] = [run(kernels), run(reference)];
  await kernels.read(found);
  const size = Math.max(...expected.values.map(Math.abs));
  const error = Math.max(...found.values.map((value, i) => Math.abs(value - (expected.values[i] as number))));
  assert.ok(error <= tolerance * size, `${what}: ${error} of ${size}`);
}

const IN_PLACE = ['rms-norm', 'softmax'];

const vectorOperations: GpuCheck = {
  name: 'operations on vectors agree with the reference, in place as well',
  on: 'variants',
  async check(kernels) {
    for (const width of [1, 45, 700]) {
      const rows = 3;
      const values = (seed: number): number[] => randomValues(randomFrom(seed), rows * width, 3);
      const ways: Readonly<Record<string, (kernels: Kernels, x: Vector, y: Vector) => Operation>> = {
        'rms-norm': (each, x, y) => ({
          kind: 'rms-norm',
          x,
          weight: each.vector(values(3).slice(0, width)),
          y,
          epsilon: 1e-5,
        }),
        softmax: (_, x, y) => ({ kind: 'softmax', x, y, width }),
        add: (_, x, y) => ({ kind: 'add', x, y }),
        'add, with a factor': (_, x, y) => ({ kind: 'add', x, y, factor: 0.22 }),
        scale: (_, __, y) => ({ kind: 'scale', y, factor: 0.22 }),
        'soft-cap': (_, __, y) => ({ kind: 'soft-cap', y, cap: 2 }),
        'gate-rows': (each, _, y) => ({ kind: 'gate-rows', gate: each.vector([2, -4, 0.5]), y }),
        'divide-rows': (each, _, y) => ({ kind: 'divide-rows', divisors: each.vector([2, -4, 0.5]), y }),
      };
      for (const [name, operation] of Object.entries(ways)) {
        await same(kernels, `${name} of ${width}`, (each) => {
          const y = each.vector(values(2));
          each.run([operation(each, each.vector(values(1)), y)]);
          return y;
        });
        if (!IN_PLACE.includes(name)) continue;
        await same(kernels, `${name} of ${width} in place`, (each) => {
          const x = each.vector(values(1));
          each.run([operation(each, x, x)]);
          return x;
        });
      }
    }
  },
};

/** Norms of rows of a width that is not rounded, and of others. */
const norms = (on: GpuCheck['on']): GpuCheck => ({
  name: `rows are normed by the weights of their groups in turn, ${on}`,
  on,
  async check(kernels) {
    for (const [width, groups] of [
      [5, 3],
      [64, 2],
      [160, 1],
    ] as const)
      await same(kernels, `${groups} groups of ${width}`, (each) => {
        const vector = (length: number, seed: number) => each.vector(randomValues(randomFrom(seed), length, 3));
        const [x, weight] = [vector(4 * groups * width, 1), vector(groups * width, 2)];
        const y = each.vector(x.values.length);
        each.run([{ kind: 'rms-norm', x, weight, y, epsilon: 1e-5, width }]);
        return y;
      });
  },
});

const gates: readonly GpuCheck[] = ACTIVATIONS.map((activation) => ({
  name: `gates of ${activation} agree, beyond where they are clamped, and in place as well`,
  on: 'plain',
  async check(kernels) {
    for (const into of ['gate', 'up', 'y'] as const)
      await same(kernels, `into ${into}`, (each) => {
        const vector = (seed: number) => each.vector(randomValues(randomFrom(seed), 700, 15));
        const vectors = { gate: vector(1), up: vector(2), y: vector(3) };
        each.run([{ kind: 'gate', activation, ...vectors, y: vectors[into] }]);
        return vectors[into];
      });
    await same(kernels, 'all in one', (each) => {
      const y = each.vector(randomValues(randomFrom(1), 700, 15));
      each.run([{ kind: 'gate', activation, gate: y, up: y, y }]);
      return y;
    });
    const none = kernels.vector([Number.NaN, 1]);
    const y = kernels.vector(2);
    kernels.run([{ kind: 'gate', activation, gate: none, up: kernels.vector([1, Number.NaN]), y }]);
    await kernels.read(y);
    assert.ok(y.values.every(Number.isNaN), 'what is no number is noticed');
  },
}));

const rope: GpuCheck = {
  name: 'rope agrees, in adjacent pairs and in halves, and leaves values past its dimensions alone',
  on: 'plain',
  async check(kernels) {
    for (const pairs of ['adjacent', 'halves'] as const) {
      await same(kernels, pairs, (each) => {
        const x = each.vector(randomValues(randomFrom(5), 2 * 3 * 10));
        const angles = each.vector(randomValues(randomFrom(6), 2 * 8));
        each.run([{ kind: 'rope', x, angles, heads: 3, headSize: 10, pairs }]);
        return x;
      });
    }
  },
};

/** Scores of the cases reach 20, and a float32 of that size is exact to 2e-6, which its exponential multiplies. */
const ATTENTION_TOLERANCE = 1e-5;

const CASES: readonly AttentionCase[] = [
  { kvHeads: 1, group: 1, headSize: 32, before: 0, tokens: 1, type: 'F32', seed: 1 },
  { kvHeads: 2, group: 3, headSize: 45, before: 130, tokens: 3, type: 'F16', seed: 2 },
  { kvHeads: 2, group: 2, headSize: 128, before: 700, tokens: 2, type: 'F16', seed: 3 },
  { kvHeads: 2, group: 2, headSize: 64, before: 70, tokens: 3, type: 'Q8_0', seed: 4 },
  // Three blocks: the last lane of a row has one.
  { kvHeads: 2, group: 1, headSize: 96, before: 70, tokens: 2, type: 'Q4_0', seed: 5 },
  // Windows that begin in a chunk, at one, and hide whole pages; heads of models.
  { kvHeads: 1, group: 2, headSize: 256, before: 190, tokens: 5, window: 70, type: 'F16', seed: 6 },
  { kvHeads: 2, group: 1, headSize: 80, before: 128, tokens: 2, window: 65, type: 'F32', seed: 7 },
  { kvHeads: 1, group: 1, headSize: 12, before: 130, tokens: 3, window: 1, type: 'F16', seed: 8 },
  { kvHeads: 1, group: 2, headSize: 32, before: 9, tokens: 40, window: 33, type: 'Q8_0', seed: 9 },
];

function attention(one: AttentionCase): GpuCheck {
  const { headSize, type, tokens, before, window } = one;
  const windowed = window === undefined ? '' : `, with a window of ${window}`;
  return {
    name: `attention of ${tokens} tokens to ${before} before them, heads of ${headSize} in ${type}${windowed}`,
    on: 'variants',
    async check(kernels) {
      for (const sunk of [false, true]) {
        const name = sunk ? ', with sinks' : '';
        await same(kernels, `whole${name}`, (each) => wholeAttention(each, one, sunk), ATTENTION_TOLERANCE);
        await same(kernels, `by pages${name}`, (each) => pagedAttention(each, one, sunk), ATTENTION_TOLERANCE);
      }
    },
  };
}

/** A sink that takes nearly all, nearly nothing, or some of a head's weight; `undefined` without. */
function sinksOf(kernels: Kernels, heads: number, sunk: boolean): Vector | undefined {
  return sunk
    ? kernels.vector(Array.from({ length: heads }, (_, head) => [3, 40, -200][head % 3] as number))
    : undefined;
}

function wholeAttention(kernels: Kernels, one: AttentionCase, sunk: boolean): Vector {
  const { kvHeads, headSize, type, before, window } = one;
  const { heads, scale, keys, values, queries, length } = storable(kernels, one);
  const cache = kernels.cache({ type, kvHeads, capacity: length, headSize });
  const y = kernels.vector(queries.values.length);
  const sinks = sinksOf(kernels, heads, sunk);
  kernels.run([
    { kind: 'store', cache, keys, values, position: 0 },
    { kind: 'attention', cache, queries, y, heads, position: before, window, scale, sinks },
  ]);
  return y;
}

/** Keys and values that the cache holds as they are: a rounding that is a tie may go either way on a GPU. */
function storable(kernels: Kernels, one: AttentionCase): ReturnType<typeof attentionVectors> {
  const drawn = attentionVectors(kernels, one);
  const held = ({ values }: Vector): Vector => kernels.vector(roundedAs(one.type, values));
  return { ...drawn, keys: held(drawn.keys), values: held(drawn.values) };
}

const notFinite: GpuCheck = {
  name: 'keys that are no finite numbers are noticed in a cache of any format',
  on: 'plain',
  async check(kernels) {
    const shape = { kvHeads: 1, group: 1, headSize: 64, before: 0, tokens: 1, seed: 6 };
    for (const type of KV_FORMATS)
      for (const wrong of [Number.NaN, Number.POSITIVE_INFINITY]) {
        const { heads, scale, keys, values, queries } = attentionVectors(kernels, shape);
        const [cache, y] = [kernels.cache({ type, kvHeads: 1, capacity: 1, headSize: 64 }), kernels.vector(64)];
        keys.values[40] = wrong;
        kernels.write(keys);
        kernels.run([
          { kind: 'store', cache, keys, values, position: 0 },
          { kind: 'attention', cache, queries, y, heads, position: 0, scale },
        ]);
        await kernels.read(y);
        assert.not(allFinite(y.values), `${type}: ${wrong}`);
      }
  },
};

const copiedCache: GpuCheck = {
  name: 'a cache is copied after what was stored in it, and before what follows',
  on: 'plain',
  async check(kernels) {
    const shape = { type: 'F16', kvHeads: 1, capacity: 4, headSize: 64 } as const;
    const [cache, copy, y] = [kernels.cache(shape), kernels.cache(shape), kernels.vector(64)];
    const store = (value: number): void => {
      const values = kernels.vector(new Array<number>(64).fill(value));
      kernels.run([{ kind: 'store', cache, keys: values, values, position: 0 }]);
    };
    store(5);
    kernels.copyCache(cache, copy);
    store(7);
    kernels.run([{ kind: 'attention', cache: copy, queries: kernels.vector(64), y, heads: 1, position: 0, scale: 1 }]);
    await kernels.read(y);
    assert.is(y.values[63], 5);
  },
};

/** The same, with keys and values in pages of 50 positions, the last page first; or the first, which a window hides. */
function pagedAttention(kernels: Kernels, one: AttentionCase, sunk: boolean): Vector {
  const { kvHeads, headSize, type, tokens, before, window } = one;
  const { heads, scale, keys, values, queries, length, width } = storable(kernels, one);
  const pages: CachePage[] = [];
  const stores: Operation[] = [];
  for (let first = 0; first < length; first += 50) {
    const count = Math.min(50, length - first);
    const cache = kernels.cache({ type, kvHeads, capacity: 50, headSize });
    const [from, to] = [first * width, (first + count) * width];
    stores.push({ kind: 'store', cache, keys: keys.slice(from, to), values: values.slice(from, to), position: 0 });
    const page = { cache, first, count };
    if (one.window === undefined) pages.unshift(page);
    else pages.push(page);
  }
  const y = kernels.vector(queries.values.length);
  const [largest, totals] = [kernels.vector(tokens * heads), kernels.vector(tokens * heads)];
  const sinks = sinksOf(kernels, heads, sunk);
  const state = { queries, y, largest, totals, heads, position: before, window, scale, sinks };
  kernels.run([
    ...stores,
    { kind: 'attend-pages', pages: pages.slice(0, 1), ...state, begins: true },
    ...(pages.length > 1 ? [{ kind: 'attend-pages' as const, pages: pages.slice(1), ...state, begins: false }] : []),
    { kind: 'divide-rows', divisors: totals, y },
  ]);
  return y;
}

const writtenVector: GpuCheck = {
  name: 'what the host writes to a vector is seen after write, and slices keep their place',
  on: 'plain',
  async check(kernels) {
    const x = kernels.vector(8);
    x.values.set([1, 2, 3, 4, 5, 6, 7, 8]);
    kernels.write(x);
    const y = kernels.vector([10, 20]);
    kernels.run([{ kind: 'add', x: x.slice(4, 6), y }]);
    await kernels.read(y);
    assert.equal([...y.values], [15, 26]);
  },
};

const severalReads: GpuCheck = {
  name: 'several vectors of one size are read at the same time',
  on: 'plain',
  async check(kernels) {
    const vectors = [1, 2, 3].map((value) => kernels.vector([value, value]));
    const ones = kernels.vector([1, 1]);
    const readings = vectors.map((y) => {
      kernels.run([{ kind: 'add', x: ones, y }]);
      return kernels.read(y);
    });
    await Promise.all(readings);
    assert.equal(
      vectors.map(({ values }) => [...values]),
      [
        [2, 2],
        [3, 3],
        [4, 4],
      ],
    );
  },
};

const grownMemory: GpuCheck = {
  name: 'vectors keep their contents when their memory grows',
  on: 'plain',
  async check(kernels) {
    const small = kernels.vector([1, 2, 3]);
    const y = kernels.vector([1, 1, 1]);
    kernels.run([{ kind: 'add', x: small, y }]);
    const large = kernels.vector(3 * 2 ** 20);
    kernels.run([{ kind: 'add', x: small, y: large.slice(0, 3) }]);
    await kernels.read(y);
    await kernels.read(large);
    assert.equal([...y.values, ...large.values.subarray(0, 4)], [2, 3, 4, 1, 2, 3, 0]);
  },
};

/** All operations but products, and vectors as the host sees them. */
export const OPERATION_CHECKS: readonly GpuCheck[] = [
  vectorOperations,
  ...[norms('variants'), norms('rounded')],
  ...gates,
  rope,
  ...CASES.map(attention),
  ...[notFinite, copiedCache, writtenVector, severalReads, grownMemory],
];
