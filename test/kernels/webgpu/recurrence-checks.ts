import * as assert from 'uvu/assert';
import type { Kernels } from '../../../engine/kernels/kernels.ts';
import { openKernels } from '../../../engine/kernels/open-kernels.ts';
import type { CopyColumnsOperation, Operation } from '../../../engine/kernels/operation.ts';
import type { Vector } from '../../../engine/kernels/vector.ts';
import type { GpuCheck } from '../../support/gpu-variants.ts';
import { randomFrom, randomValues } from '../random-from.ts';

const reference = openKernels({ implementation: 'reference' });

/** An operation that keeps a state, over tokens of a text. */
interface Recurrence {
  /** y and the state. */
  readonly results: readonly Vector[];
  /** The operation for tokens `from` up to, but not including, `to`. */
  readonly of: (from: number, to: number) => Operation;
}

type CreateRecurrence = (kernels: Kernels, tokens: number) => Recurrence;

/** Vectors of random values; each has its own. */
function vectorsOf(kernels: Kernels): (length: number, range?: number) => Vector {
  const random = randomFrom(1);
  return (length, range = 1) => kernels.vector(randomValues(random, length, range));
}

/** The values of some of a vector's tokens. */
function tokensOf(vector: Vector, tokens: number, from: number, to: number): Vector {
  const width = vector.values.length / tokens;
  return vector.slice(from * width, to * width);
}

interface ConvolveShape {
  readonly channels: number;
  readonly width: number;
  readonly biased: boolean;
}

function convolve({ channels, width, biased }: ConvolveShape): CreateRecurrence {
  return (kernels, tokens) => {
    const vector = vectorsOf(kernels);
    const [weight, bias, state] = [vector(channels * width), vector(channels), vector((width - 1) * channels)];
    const [x, y] = [vector(tokens * channels), vector(tokens * channels)];
    const activation = biased ? 'silu' : 'identity';
    const common = { kind: 'convolve', weight, width, state, activation, ...(biased && { bias }) } as const;
    return {
      results: [y, state],
      of: (from, to) => ({ ...common, x: tokensOf(x, tokens, from, to), y: tokensOf(y, tokens, from, to) }),
    };
  };
}

interface DeltaRuleShape {
  readonly keyHeads: number;
  readonly valueHeads: number;
  readonly size: number;
  readonly order: 'neighbours' | 'apart';
}

function deltaRule(shape: DeltaRuleShape): CreateRecurrence {
  const { keyHeads, valueHeads, size } = shape;
  return (kernels, tokens) => {
    const vector = vectorsOf(kernels);
    const ofTokens = {
      x: vector(tokens * (2 * keyHeads + valueHeads) * size),
      strength: vector(tokens * valueHeads, 3),
      decay: vector(tokens * valueHeads, 3),
      y: vector(tokens * valueHeads * size),
    };
    const rate = kernels.vector(randomValues(randomFrom(2), valueHeads).map((value) => -Math.abs(value)));
    const [decayBias, state] = [vector(valueHeads), vector(valueHeads * size * size)];
    const common = { kind: 'delta-rule', ...shape, decayBias, rate, state, epsilon: 1e-6 } as const;
    return { results: [ofTokens.y, state], of: (from, to) => ({ ...common, ...slices(ofTokens, tokens, from, to) }) };
  };
}

interface SelectiveScanShape {
  readonly heads: number;
  readonly headSize: number;
  readonly groups: number;
  readonly stateSize: number;
}

function selectiveScan(shape: SelectiveScanShape): CreateRecurrence {
  const { heads, headSize, groups, stateSize } = shape;
  return (kernels, tokens) => {
    const vector = vectorsOf(kernels);
    const ofTokens = {
      x: vector(tokens * (heads * headSize + 2 * groups * stateSize)),
      step: vector(tokens * heads, 3),
      y: vector(tokens * heads * headSize),
    };
    const rate = kernels.vector(randomValues(randomFrom(2), heads).map((value) => -Math.abs(value)));
    const [stepBias, skip, state] = [vector(heads), vector(heads), vector(heads * headSize * stateSize)];
    const common = { kind: 'selective-scan', ...shape, stepBias, rate, skip, state } as const;
    return { results: [ofTokens.y, state], of: (from, to) => ({ ...common, ...slices(ofTokens, tokens, from, to) }) };
  };
}

/** Some of the tokens of each vector. */
function slices<Name extends string>(
  vectors: Readonly<Record<Name, Vector>>,
  tokens: number,
  from: number,
  to: number,
): Record<Name, Vector> {
  const sliced = Object.entries<Vector>(vectors).map(([name, vector]) => [name, tokensOf(vector, tokens, from, to)]);
  return Object.fromEntries(sliced) as Record<Name, Vector>;
}

/** The results of passes with so many tokens each. */
async function resultsOf(kernels: Kernels, create: CreateRecurrence, passes: readonly number[]): Promise<number[][]> {
  const { results, of } = create(
    kernels,
    passes.reduce((sum, tokens) => sum + tokens, 0),
  );
  let from = 0;
  for (const tokens of passes) {
    kernels.run([of(from, from + tokens)]);
    from += tokens;
  }
  for (const result of results) await kernels.read(result);
  return results.map(({ values }) => [...values]);
}

/** Sums of up to a few hundred products, 65 times in a row. */
const TOLERANCE = 5e-6;

function agrees(kind: string, shape: object, create: CreateRecurrence): GpuCheck {
  const name = Object.entries(shape).map(([key, value]) => `${key} ${value}`);
  return {
    name: `${kind} agrees, with the same bits in any passes: ${name.join(', ')}`,
    on: 'plain',
    async check(kernels) {
      for (const tokens of [1, 2, 7, 65]) {
        const [found, expected] = [
          await resultsOf(kernels, create, [tokens]),
          await resultsOf(reference, create, [tokens]),
        ];
        for (const [index, values] of expected.entries()) {
          const size = Math.max(...values.map(Math.abs));
          const error = Math.max(...values.map((value, i) => Math.abs(value - (found[index]?.[i] as number))));
          assert.ok(error <= TOLERANCE * size, `${tokens} tokens, ${index === 0 ? 'y' : 'state'}: ${error} of ${size}`);
        }
        if (tokens > 2)
          assert.equal(await resultsOf(kernels, create, [1, 2, tokens - 3]), found, `${tokens} tokens in passes`);
      }
    },
  };
}

const CONVOLUTIONS: readonly ConvolveShape[] = [
  { channels: 5, width: 2, biased: false },
  { channels: 80, width: 4, biased: true },
  // Each part of the tokens has as many as the state.
  { channels: 24, width: 13, biased: true },
];

const DELTA_RULES: readonly DeltaRuleShape[] = [
  { keyHeads: 2, valueHeads: 6, size: 4, order: 'neighbours' },
  { keyHeads: 2, valueHeads: 4, size: 16, order: 'apart' },
  { keyHeads: 1, valueHeads: 3, size: 24, order: 'apart' },
  { keyHeads: 3, valueHeads: 3, size: 5, order: 'neighbours' },
  { keyHeads: 1, valueHeads: 2, size: 128, order: 'neighbours' },
];

const SCANS: readonly SelectiveScanShape[] = [
  { heads: 6, headSize: 5, groups: 2, stateSize: 4 },
  { heads: 3, headSize: 24, groups: 1, stateSize: 16 },
  { heads: 2, headSize: 80, groups: 2, stateSize: 128 },
  { heads: 4, headSize: 1, groups: 4, stateSize: 5 },
];

const steps: GpuCheck = {
  name: 'ln(1 + e^x) keeps its digits far from zero',
  on: 'plain',
  async check(kernels) {
    const exponents = [-80, -20, -5, -0.5, 0, 0.5, 5, 20, 1000];
    const heads = exponents.length;
    const filled = (length: number, value: number) => kernels.vector(new Array<number>(length).fill(value));
    const [y, zeros] = [filled(heads, 9), filled(heads, 0)];
    const [x, step, state] = [filled(heads + 2, 1), kernels.vector(exponents), filled(heads, 0)];
    const numbers = { step, stepBias: zeros, rate: zeros, skip: zeros };
    const shape = { heads, headSize: 1, groups: 1, stateSize: 1 };
    kernels.run([{ kind: 'selective-scan', x, ...numbers, state, y, ...shape }]);
    await kernels.read(y);
    for (const [i, exponent] of exponents.entries()) {
      const expected = exponent > 100 ? exponent : Math.log1p(Math.exp(exponent));
      const found = y.values[i] as number;
      // WGSL's exponential may be off by 3 + 2|x| units in the last place.
      const units = exponent < 0 ? 4 + 2 * -exponent : 4;
      assert.ok(Math.abs(found - expected) <= units * 2 ** -23 * expected, `${exponent}: ${found}, not ${expected}`);
    }
  },
};

const notFinite: GpuCheck = {
  name: 'what is no number is in the results and in the state',
  on: 'plain',
  async check(kernels) {
    const rule = deltaRule({ keyHeads: 1, valueHeads: 1, size: 4, order: 'apart' });
    const scan = selectiveScan({ heads: 1, headSize: 4, groups: 1, stateSize: 4 });
    const cases: readonly (readonly [CreateRecurrence, string])[] = [
      [convolve({ channels: 5, width: 4, biased: true }), 'x'],
      ...['x', 'strength', 'decay'].map((input) => [rule, input] as const),
      ...['x', 'step'].map((input) => [scan, input] as const),
    ];
    for (const [create, input] of cases) {
      const { results, of } = create(kernels, 3);
      const operation = of(0, 3);
      const vector = (operation as unknown as Record<string, Vector>)[input] as Vector;
      vector.values.fill(Number.NaN);
      kernels.write(vector);
      kernels.run([operation]);
      for (const result of results) {
        await kernels.read(result);
        assert.ok(result.values.every(Number.isNaN), `${operation.kind}, ${input}`);
      }
    }
  },
};

const prepared: GpuCheck = {
  name: 'prepared operations carry their state from run to run',
  on: 'plain',
  async check(kernels) {
    const cases = [
      convolve({ channels: 5, width: 4, biased: true }),
      deltaRule({ keyHeads: 1, valueHeads: 2, size: 4, order: 'apart' }),
      selectiveScan({ heads: 2, headSize: 4, groups: 1, stateSize: 4 }),
    ];
    for (const create of cases) {
      const [once, again] = [create(kernels, 1), create(kernels, 1)];
      for (let run = 0; run < 2; run++) kernels.run([once.of(0, 1)]);
      const program = kernels.prepare?.([again.of(0, 1)]);
      for (let run = 0; run < 2; run++) program?.run([], 0);
      for (const [i, result] of once.results.entries()) {
        const other = again.results[i] as Vector;
        await kernels.read(result);
        await kernels.read(other);
        assert.equal([...other.values], [...result.values]);
      }
    }
  },
};

/** Columns of rows: [from, to] of vectors, by their place in a list. */
interface Copy {
  readonly x: readonly [vector: number, width: number, first: number];
  readonly y: readonly [vector: number, width: number, first: number];
  readonly columns: number;
  readonly repeats?: number;
}

const COPIES: Readonly<Record<string, readonly Copy[]>> = {
  'rows are divided, and their parts are joined in another order': [
    { x: [0, 12, 0], y: [1, 4, 0], columns: 4 },
    { x: [0, 12, 4], y: [2, 3, 0], columns: 3 },
    { x: [0, 12, 7], y: [3, 5, 0], columns: 5 },
    { x: [1, 4, 0], y: [4, 9, 5], columns: 4 },
    { x: [3, 5, 0], y: [4, 9, 0], columns: 5 },
  ],
  'rows are repeated, between columns that stay': [{ x: [0, 12, 2], y: [4, 9, 1], columns: 7, repeats: 3 }],
  'a later copy to the same place is the one that stays': [
    { x: [0, 12, 0], y: [1, 4, 0], columns: 4 },
    { x: [0, 12, 6], y: [1, 4, 1], columns: 3 },
    { x: [2, 3, 0], y: [0, 12, 0], columns: 2 },
  ],
  'more copies than what one dispatch does': Array.from({ length: 12 }, (_, column) => ({
    ...{ x: [0, 12, column], y: [4, 24, 2 * (11 - column)], columns: 1 },
  })),
};

const copies: GpuCheck = {
  name: 'columns are copied as by the reference',
  on: 'plain',
  async check(kernels) {
    for (const [name, list] of Object.entries(COPIES))
      for (const rows of [1, 7, 65]) {
        const run = async (each: Kernels): Promise<number[][]> => {
          const vector = vectorsOf(each);
          const widths = list.reduce<number[]>(
            (sizes, { x, y, repeats = 1 }) => {
              sizes[x[0]] = x[1];
              sizes[y[0]] = y[1] * repeats;
              return sizes;
            },
            [1, 1, 1, 1, 1],
          );
          const vectors = widths.map((width) => vector(rows * width));
          const place = ([index, width, first]: Copy['x']) => ({ values: vectors[index] as Vector, width, first });
          each.run(
            list.map(
              ({ x, y, ...others }): CopyColumnsOperation => ({
                kind: 'copy-columns',
                x: place(x),
                y: place(y),
                ...others,
              }),
            ),
          );
          for (const one of vectors) await each.read(one);
          return vectors.map(({ values }) => [...values]);
        };
        assert.equal(await run(kernels), await run(reference), `${name}, ${rows} rows`);
      }
  },
};

/** Operations of layers that keep a state instead of keys and values. */
export const RECURRENCE_CHECKS: readonly GpuCheck[] = [
  copies,
  ...CONVOLUTIONS.map((shape) => agrees('convolve', shape, convolve(shape))),
  ...DELTA_RULES.map((shape) => agrees('delta-rule', shape, deltaRule(shape))),
  ...SCANS.map((shape) => agrees('selective-scan', shape, selectiveScan(shape))),
  ...[steps, notFinite, prepared],
];
