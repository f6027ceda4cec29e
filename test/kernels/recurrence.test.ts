import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Kernels } from '../../engine/kernels/kernels.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import type { ConvolveOperation, DeltaRuleOperation, Operation } from '../../engine/kernels/operation.ts';
import type { Vector } from '../../engine/kernels/vector.ts';
import { near } from '../support/near.ts';
import { NATIVE_SETS, testNative } from './native-sets.ts';
import { randomFrom, randomValues } from './random-from.ts';

const reference = openKernels({ implementation: 'reference' });
const open = (instructionSet: string, threads = 2): Kernels =>
  openKernels({ implementation: 'native', instructionSet, threads });
const natives = NATIVE_SETS.map((set) => open(set));
const everywhere = [reference, ...natives];
const TOKENS = 65;

/** A recurrent layer with random inputs: the vectors of each kind, and its operation on consecutive tokens. */
interface Layer {
  /** [tokens][width of each], and values that all tokens share. */
  readonly inputs: Readonly<Record<string, { readonly width: number; readonly values: readonly number[] }>>;
  readonly shared: Readonly<Record<string, readonly number[]>>;
  readonly state: readonly number[];
  readonly outputs: number;
  readonly operation: (vectors: Readonly<Record<string, Vector>>) => Operation;
}

interface Computed {
  readonly y: number[];
  readonly state: number[];
}

/** A layer's results for its tokens in passes of so many each, with its state carried over from one to the next. */
function compute(kernels: Kernels, layer: Layer, passes: readonly number[] = [TOKENS]): Computed {
  const shared = Object.entries(layer.shared).map(([name, values]) => [name, kernels.vector(values)] as const);
  const state = kernels.vector(layer.state);
  const y: number[] = [];
  let from = 0;
  for (const tokens of passes) {
    const inputs = Object.entries(layer.inputs).map(([name, { width, values }]) => {
      const own = values.slice(from * width, (from + tokens) * width);
      return [name, kernels.vector(own)] as const;
    });
    const out = kernels.vector(tokens * layer.outputs);
    kernels.run([layer.operation(Object.fromEntries([...shared, ...inputs, ['state', state], ['y', out]]))]);
    y.push(...out.values);
    from += tokens;
  }
  return { y, state: [...state.values] };
}

type Named<Names extends string> = Readonly<Record<Names, Vector>>;

function convolution(channels: number, width: number, biased: boolean, activation: 'silu' | 'identity'): Layer {
  const random = randomFrom(channels + width);
  const bias = biased ? { bias: randomValues(random, channels) } : {};
  return {
    inputs: { x: { width: channels, values: randomValues(random, TOKENS * channels, 2) } },
    shared: { weight: randomValues(random, channels * width), ...bias },
    state: randomValues(random, (width - 1) * channels, 2),
    outputs: channels,
    operation: (vectors) => ({
      kind: 'convolve',
      ...(vectors as Named<'x' | 'weight' | 'bias' | 'state' | 'y'>),
      width,
      activation,
    }),
  };
}

function deltaRule(keyHeads: number, valueHeads: number, size: number, order: DeltaRuleOperation['order']): Layer {
  const random = randomFrom(valueHeads * size);
  const input = (width: number, range: number) => ({ width, values: randomValues(random, TOKENS * width, range) });
  return {
    inputs: {
      x: input((2 * keyHeads + valueHeads) * size, 2),
      strength: input(valueHeads, 4),
      decay: input(valueHeads, 4),
    },
    shared: {
      decayBias: randomValues(random, valueHeads),
      rate: randomValues(random, valueHeads).map((value) => -Math.abs(value)),
    },
    state: randomValues(random, valueHeads * size * size, 0.3),
    outputs: valueHeads * size,
    operation: (vectors) => ({
      kind: 'delta-rule',
      ...(vectors as Named<'x' | 'strength' | 'decay' | 'decayBias' | 'rate' | 'state' | 'y'>),
      ...{ keyHeads, valueHeads, size, order, epsilon: 1e-6 },
    }),
  };
}

function selectiveScan(heads: number, headSize: number, groups: number, stateSize: number): Layer {
  const random = randomFrom(heads * headSize + stateSize);
  const input = (width: number, range: number) => ({ width, values: randomValues(random, TOKENS * width, range) });
  return {
    inputs: { x: input(heads * headSize + 2 * groups * stateSize, 1), step: input(heads, 3) },
    shared: {
      stepBias: randomValues(random, heads),
      rate: randomValues(random, heads).map((value) => -Math.abs(value)),
      skip: randomValues(random, heads),
    },
    state: randomValues(random, heads * headSize * stateSize),
    outputs: heads * headSize,
    operation: (vectors) => ({
      kind: 'selective-scan',
      ...(vectors as Named<'x' | 'step' | 'stepBias' | 'rate' | 'skip' | 'state' | 'y'>),
      ...{ heads, headSize, groups, stateSize },
    }),
  };
}

/** Widths that are no multiple of a vector, and those of models. */
const LAYERS: Readonly<Record<string, Layer>> = {
  ...Object.fromEntries(
    [5, 24, 80, 300].flatMap((channels) =>
      [2, 4].map((width) => [
        `${channels} channels, ${width} wide`,
        convolution(channels, width, width === 4, channels === 24 ? 'identity' : 'silu'),
      ]),
    ),
  ),
  'delta rule of 4': deltaRule(1, 1, 4, 'neighbours'),
  'delta rule of 16, neighbours': deltaRule(2, 4, 16, 'neighbours'),
  'delta rule of 16, apart': deltaRule(2, 4, 16, 'apart'),
  'delta rule of 24': deltaRule(3, 3, 24, 'apart'),
  'delta rule of 77': deltaRule(1, 2, 77, 'apart'),
  'delta rule of 128': deltaRule(1, 2, 128, 'neighbours'),
  'scan of 4': selectiveScan(2, 3, 1, 4),
  'scan of 16': selectiveScan(6, 5, 3, 16),
  'scan of 21': selectiveScan(4, 8, 4, 21),
  'scan of 128': selectiveScan(2, 70, 2, 128),
};

/** Asserts equality up to the rounding of single precision, relative to the largest value. */
function alike(found: readonly number[], expected: readonly number[], what: string): void {
  const largest = expected.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  for (const [i, value] of found.entries())
    assert.ok(Math.abs(value - (expected[i] as number)) <= 2e-6 * largest, `${what}: ${value} is not ${expected[i]}`);
}

testNative('every instruction set gives what the reference gives, and leaves the same state', () => {
  for (const [name, layer] of Object.entries(LAYERS)) {
    const expected = compute(reference, layer);
    assert.ok(expected.y.every(Number.isFinite));
    for (const kernels of natives) {
      const found = compute(kernels, layer);
      alike(found.y, expected.y, `${name}, ${kernels.instructionSet}`);
      alike(found.state, expected.state, `state of ${name}, ${kernels.instructionSet}`);
    }
  }
});

testNative('tokens have, bit by bit, the same results however they are divided into passes', () => {
  for (const [name, layer] of Object.entries(LAYERS))
    for (const kernels of everywhere) {
      const expected = compute(kernels, layer);
      for (const passes of [
        [7, 58],
        [1, 2, 62],
        [1, 1, 1, 1, 1, 60],
      ])
        assert.equal(compute(kernels, layer, passes), expected, `${name}, ${kernels.instructionSet}, ${passes}`);
    }
});

testNative('results are, bit by bit, the same with any number of threads', () => {
  for (const set of NATIVE_SETS) {
    const [one, two, three] = [1, 2, 3].map((threads) => {
      const kernels = open(set, threads);
      const found = Object.values(LAYERS).map((layer) => compute(kernels, layer));
      kernels.close();
      return found;
    });
    assert.equal(two, one, set);
    assert.equal(three, one, set);
  }
});

testNative('prepared operations go on from the state that they left', () => {
  for (const layer of [convolution(24, 4, true, 'silu'), deltaRule(1, 2, 16, 'apart'), selectiveScan(2, 4, 1, 16)])
    for (const kernels of natives) {
      const { y: expected } = compute(kernels, layer);
      const vectors: Record<string, Vector> = { state: kernels.vector(layer.state), y: kernels.vector(layer.outputs) };
      for (const [name, values] of Object.entries(layer.shared)) vectors[name] = kernels.vector(values);
      for (const [name, { width }] of Object.entries(layer.inputs)) vectors[name] = kernels.vector(width);
      const prepared = kernels.prepare?.([layer.operation(vectors)]);
      const found: number[] = [];
      for (let token = 0; token < TOKENS; token++) {
        for (const [name, { width, values }] of Object.entries(layer.inputs))
          vectors[name]?.values.set(values.slice(token * width, (token + 1) * width));
        prepared?.run([], token);
        found.push(...(vectors.y as Vector).values);
      }
      assert.equal(found, expected, kernels.instructionSet);
    }
});

test('a convolution of width 2 adds the weighted input before, which the state has of the first token', () => {
  for (const kernels of everywhere) {
    const x = kernels.vector([1, 10, 2, 20]);
    const [weight, bias] = [kernels.vector([3, 1, -1, 0.5]), kernels.vector([0, 100])];
    const [state, y] = [kernels.vector([5, 6]), kernels.vector(4)];
    const plain = { kind: 'convolve', x, weight, width: 2, state, y, activation: 'identity' } as const;
    kernels.run([{ ...plain, bias }]);
    assert.equal([...y.values], [3 * 5 + 1, 100 - 6 + 5, 3 * 1 + 2, 100 - 10 + 10], kernels.instructionSet);
    assert.equal([...state.values], [2, 20]);
    kernels.run([{ ...plain, activation: 'silu' }]);
    for (const [i, sum] of [7, -15, 5, 0].entries()) near(y.values[i] as number, sum / (1 + Math.exp(-sum)), 1e-6);
  }
});

test('fewer tokens than a convolution is wide leave earlier inputs in the state', () => {
  for (const kernels of everywhere) {
    const [state, y] = [kernels.vector([1, 2, 3]), kernels.vector(1)];
    const [x, weight] = [kernels.vector([4]), kernels.vector([1, 10, 100, 1000])];
    kernels.run([{ kind: 'convolve', x, weight, width: 4, state, y, activation: 'identity' }]);
    assert.equal([...y.values], [4321], kernels.instructionSet);
    assert.equal([...state.values], [2, 3, 4]);
  }
});

/** A delta rule of size 2 whose query and key are (3, 4), so that k = (0.6, 0.8) and q = k/√2; g = ½ and β = ½. */
function smallDelta(kernels: Kernels, value: readonly [number, number]): DeltaRuleOperation {
  return {
    kind: 'delta-rule',
    x: kernels.vector([3, 4, 3, 4, ...value]),
    strength: kernels.vector([0]),
    decay: kernels.vector([1]),
    decayBias: kernels.vector([-1]),
    rate: kernels.vector([-1]),
    state: kernels.vector([10, 0, 0, 20]),
    y: kernels.vector(2),
    ...{ keyHeads: 1, valueHeads: 1, size: 2, order: 'neighbours', epsilon: 0 },
  };
}

test('a delta rule halves its state, and moves what it has of the key half the way to the value', () => {
  for (const kernels of everywhere) {
    // Halved: (5, 0), (0, 10), which has (3, 8) of the key; δ = ½·((7, 10) − (3, 8)) = (2, 1).
    const operation = smallDelta(kernels, [7, 10]);
    kernels.run([operation]);
    const state = [5 + 1.2, 0.6, 1.6, 10 + 0.8];
    for (const [i, expected] of state.entries()) near(operation.state.values[i] as number, expected, 1e-6);
    for (const [i, expected] of [5, 9].entries()) near(operation.y.values[i] as number, expected / Math.SQRT2, 1e-6);
  }
});

test('value heads share the key head of their neighbours, or of heads that are apart', () => {
  for (const [order, expected] of [
    ['neighbours', [1, 1, 2, 2]],
    ['apart', [1, 2, 1, 2]],
  ] as const)
    for (const kernels of everywhere) {
      // A strength of −200 and a rate of 0 leave the state as it is; heads of size 1 have q = ±1.
      const [x, y] = [kernels.vector([1, -1, 1, 1, 0, 0, 0, 0]), kernels.vector(4)];
      const [zeros, state] = [kernels.vector(4), kernels.vector([1, 1, 1, 1])];
      const strength = kernels.vector([-200, -200, -200, -200]);
      const heads = { keyHeads: 2, valueHeads: 4, size: 1, order, epsilon: 0 };
      kernels.run([
        { kind: 'delta-rule', x, strength, decay: zeros, decayBias: zeros, rate: zeros, state, y, ...heads },
      ]);
      assert.equal(
        [...y.values],
        expected.map((head) => (head === 1 ? 1 : -1)),
        `${kernels.instructionSet}, ${order}`,
      );
    }
});

test('a selective scan keeps a share of its state, and adds the step’s share of the value', () => {
  for (const kernels of everywhere) {
    // Two heads of one group; τ = ln 2: e^(τ·rate) = ½ and 1.
    const operation: Operation = {
      kind: 'selective-scan',
      x: kernels.vector([3, 5, 1, 2, 10, 100]),
      step: kernels.vector([1, -1]),
      stepBias: kernels.vector([-1, 1]),
      rate: kernels.vector([-1, 0]),
      skip: kernels.vector([7, 0]),
      state: kernels.vector([4, 6, 1, 1]),
      y: kernels.vector(2),
      ...{ heads: 2, headSize: 1, groups: 1, stateSize: 2 },
    };
    kernels.run([operation]);
    const state = [2 + 3 * Math.LN2, 3 + 6 * Math.LN2, 1 + 5 * Math.LN2, 1 + 10 * Math.LN2];
    const [a = 0, b = 0, c = 0, d = 0] = state;
    for (const [i, expected] of state.entries()) near(operation.state.values[i] as number, expected, 1e-6);
    for (const [i, expected] of [10 * a + 100 * b + 21, 10 * c + 100 * d].entries())
      near(operation.y.values[i] as number, expected, 1e-6);
  }
});

test('large steps and decays neither overflow nor leave anything of the state, and NaN stays NaN', () => {
  for (const kernels of everywhere) {
    const operation = {
      ...smallDelta(kernels, [7, 10]),
      decay: kernels.vector([1e4]),
      strength: kernels.vector([500]),
    };
    kernels.run([operation]);
    for (const [i, expected] of [4.2, 6, 5.6, 8].entries()) near(operation.state.values[i] as number, expected, 1e-6);
    for (const name of ['x', 'strength', 'decay', 'rate'] as const) {
      const broken = smallDelta(kernels, [7, 10]);
      broken[name].values.fill(Number.NaN);
      kernels.run([broken]);
      assert.equal([...broken.y.values], [Number.NaN, Number.NaN], `${kernels.instructionSet}, ${name}`);
    }
    for (const layer of Object.values(LAYERS)) {
      const broken = { ...layer, state: layer.state.map(() => Number.NaN) };
      assert.ok(compute(kernels, broken, [1]).y.every(Number.isNaN), kernels.instructionSet);
    }
  }
});

test('operations that need what one before them writes, a state among it, wait for it', () => {
  const layer = deltaRule(2, 4, 16, 'apart');
  for (const kernels of everywhere) {
    const results = [true, false].map((atOnce) => {
      const vector = (values: readonly number[]): Vector => kernels.vector(values);
      const { x, strength, decay } = layer.inputs;
      assert.ok(x !== undefined && strength !== undefined && decay !== undefined);
      const state = vector(layer.state);
      const [mixed, out, copy] = [kernels.vector(x.width), kernels.vector(64), kernels.vector(64)];
      const shared = { decayBias: vector(layer.shared.decayBias ?? []), rate: vector(layer.shared.rate ?? []), state };
      const inputs = { strength: vector(strength.values.slice(0, 4)), decay: vector(decay.values.slice(0, 4)) };
      const kept = vector(randomValues(randomFrom(1), 3 * x.width));
      const weight = vector(randomValues(randomFrom(2), 4 * x.width));
      const step: Operation[] = [
        {
          kind: 'convolve',
          x: vector(x.values.slice(0, x.width)),
          weight,
          width: 4,
          state: kept,
          y: mixed,
          activation: 'silu',
        },
        layer.operation({ x: mixed, ...inputs, ...shared, y: out }),
        {
          kind: 'copy-columns',
          x: { values: state, width: 1024, first: 64 },
          y: { values: copy, width: 64, first: 0 },
          columns: 64,
        },
        { kind: 'add', x: copy, y: out },
      ];
      const all = Array.from({ length: 20 }, () => step).flat();
      if (atOnce) kernels.run(all);
      else for (const operation of all) kernels.run([operation]);
      return [...out.values, ...state.values, ...kept.values];
    });
    assert.equal(results[0], results[1], kernels.instructionSet);
  }
});

test('vectors and heads that don’t fit are refused by name', () => {
  for (const kernels of everywhere) {
    const refused = (operation: Operation, message: RegExp): void => {
      let thrown: unknown;
      try {
        kernels.run([operation]);
      } catch (error) {
        thrown = error;
      }
      assert.instance(thrown, RangeError);
      assert.match((thrown as RangeError).message, message);
    };
    const [one, two, four] = [1, 2, 4].map((length) => kernels.vector(length)) as [Vector, Vector, Vector];
    const delta = smallDelta(kernels, [1, 1]);
    refused({ ...delta, state: two }, /delta-rule: state has 2 values; 4 are needed/);
    refused({ ...delta, keyHeads: 0 }, /delta-rule: keyHeads of 0/);
    refused({ ...delta, valueHeads: 2, keyHeads: 2 }, /delta-rule: y has 2 values; a multiple of 4/);
    const convolve: ConvolveOperation = {
      ...{ kind: 'convolve', x: two, weight: four, width: 2, state: two, y: two, activation: 'silu' },
    };
    refused({ ...convolve, state: one }, /convolve: state has 1 values; 2 are needed/);
    refused({ ...convolve, width: 1 }, /convolve: a width of 1; at least 2/);
    const scan = { x: four, step: one, stepBias: one, rate: one, skip: one, state: two, y: two } as const;
    const shape = { kind: 'selective-scan', heads: 1, headSize: 2, groups: 1, stateSize: 1 } as const;
    kernels.run([{ ...scan, ...shape }]);
    refused({ ...scan, ...shape, groups: 2 }, /selective-scan: heads has 1 values; a multiple of 2/);
    refused({ ...scan, ...shape, x: two }, /selective-scan: x has 2 values; 4 are needed/);
  }
});

test.run();
