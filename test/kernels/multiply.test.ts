import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { dequantize, quantize } from '../../engine/gguf/formats/formats.ts';
import { bf16ToFloat, floatToBf16 } from '../../engine/gguf/formats/half.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { QUANTIZATION_NAMES, QUANTIZATIONS, type Quantization } from '../../engine/model/quantization.ts';
import { BF16_SETS } from '../support/bf16-sets.ts';
import { NATIVE_SETS, testNative } from './native-sets.ts';
import { randomFrom, randomValues } from './random-from.ts';
import { wholeNumberActivations, wholeNumberRows } from './whole-number-rows.ts';

const reference = openKernels({ implementation: 'reference' });
const natives = NATIVE_SETS.map((instructionSet) =>
  openKernels({ implementation: 'native', instructionSet, threads: 2 }),
);

/** Shapes that are multiples of nothing but the block; numbers of tokens around the thresholds between kernels. */
const shapes = fc.record({
  rows: fc.integer({ min: 1, max: 70 }),
  blocks: fc.integer({ min: 1, max: 5 }),
  tokens: fc.constantFrom(1, 2, 3, 4, 7, 8, 15, 17, 33),
  seed: fc.integer({ min: 1, max: 2 ** 30 }),
});

function columnsOf(type: Quantization, blocks: number): number {
  const { block } = QUANTIZATIONS[type];
  return block === 1 ? 13 * blocks : block * blocks;
}

test('[1 2; 3 4; 5 6]·[10, 1] is [12, 34, 56]', () => {
  const source = new Uint8Array(Float32Array.of(1, 2, 3, 4, 5, 6).buffer);
  for (const kernels of [reference, ...natives]) {
    const matrix = kernels.matrix({ source, type: 'F32', rows: 3, columns: 2 });
    const y = kernels.vector(3);
    kernels.run([{ kind: 'multiply', matrix, x: kernels.vector([10, 1]), y }]);
    assert.equal([...y.values], [12, 34, 56], kernels.instructionSet);
    kernels.run([
      { kind: 'multiply', matrix, x: kernels.vector([1, 0]), y, bias: kernels.vector([0.5, 0, 0]), accumulate: true },
    ]);
    assert.equal([...y.values], [13.5, 37, 61], kernels.instructionSet);
  }
});

for (const type of QUANTIZATION_NAMES) {
  testNative(`${type}: with whole numbers every instruction set gives the exact product`, () => {
    fc.assert(
      fc.property(shapes, ({ rows, blocks, tokens, seed }) => {
        const random = randomFrom(seed);
        const columns = columnsOf(type, blocks);
        // Also unaligned offsets within the source.
        const offset = seed % 5;
        const rowsBytes = wholeNumberRows(type, rows * columns, random);
        const source = new Uint8Array(offset + rowsBytes.length);
        source.set(rowsBytes, offset);
        const x = wholeNumberActivations(columns * tokens, random);
        const [expected, ...products] = [reference, ...natives].map((kernels) => {
          const matrix = kernels.matrix({ source, offset, type, rows, columns });
          const y = kernels.vector(rows * tokens);
          kernels.run([{ kind: 'multiply', matrix, x: kernels.vector(x), y }]);
          return [...y.values];
        });
        for (const [i, product] of products.entries()) {
          // The scaled weights of the K formats need more bits than bf16 has.
          if (roundsToBf16(NATIVE_SETS[i], type, tokens) && type.endsWith('_K')) continue;
          assert.equal(product, expected, NATIVE_SETS[i]);
        }
      }),
      { seed: 1, numRuns: 25 },
    );
  });

  testNative(
    `${type}: activations are exact, keep 15 bits, 8 where asked or, in bf16, 8 like the weights; sums differ only by rounding`,
    () => {
      fc.assert(
        fc.property(shapes, fc.constantFrom(undefined, 'byte' as const), ({ rows, blocks, tokens, seed }, rounding) => {
          const random = randomFrom(seed);
          const columns = columnsOf(type, blocks);
          const source = quantize(type, Float32Array.from(randomValues(random, rows * columns)));
          const x = Float32Array.from(randomValues(random, columns * tokens));
          const weights = new Float32Array(rows * columns);
          dequantize(type, source, weights);
          const rounded = roundedActivations(type, x, 128);
          const bytes = BYTE_TYPES.includes(type) ? roundedActivations(type, x, 1) : rounded;
          for (const kernels of natives) {
            const matrix = kernels.matrix({ source, type, rows, columns });
            const y = kernels.vector(rows * tokens);
            kernels.run([{ kind: 'multiply', matrix, x: kernels.vector(x), y, ...(rounding && { rounding }) }]);
            // Allowed results for rounded and for exact factors.
            const factors = roundsToBf16(kernels.instructionSet, type, tokens)
              ? [[roundedToBf16(weights), roundedToBf16(x)] as const]
              : rounding === 'byte' && tokens === 1
                ? [[weights, bytes] as const]
                : [
                    [weights, rounded] as const,
                    [weights, x] as const,
                    ...(rounding ? [[weights, bytes] as const] : []),
                  ];
            for (const [i, value] of y.values.entries()) {
              const at = { columns, token: Math.floor(i / rows), row: i % rows };
              const products = factors.map(([w, v]) => rowProduct(w, v, at));
              // A block's minimum is subtracted as a whole, so the terms of the sum are larger than the products.
              const close = products.some(({ sum, size }) => Math.abs(value - sum) <= 4e-6 * (size + 0.01));
              assert.ok(close, `${kernels.instructionSet}: ${value} is none of ${products.map(({ sum }) => sum)}`);
            }
          }
        }),
        { seed: 2, numRuns: 10 },
      );
    },
  );
}

for (const type of QUANTIZATION_NAMES.filter((name) => QUANTIZATIONS[name].block > 1)) {
  testNative(
    `${type}: with four tokens weights are rounded to bf16, since AVX-512 has a decoder for the format`,
    () => {
      const columns = columnsOf(type, 2);
      const source = quantize(type, Float32Array.from(randomValues(randomFrom(7), columns)));
      const weights = new Float32Array(columns);
      dequantize(type, source, weights);
      for (const kernels of natives.filter(({ instructionSet }) => roundsToBf16(instructionSet, type, 4))) {
        const matrix = kernels.matrix({ source, type, rows: 1, columns });
        const [x, y] = [kernels.vector(4 * columns), kernels.vector(4)];
        const products = Array.from({ length: columns / 4 }, (_, step) => {
          x.values.fill(0);
          // Each of the four tokens takes out one weight.
          for (let token = 0; token < 4; token++) x.values[token * columns + 4 * step + token] = 1;
          kernels.run([{ kind: 'multiply', matrix, x, y }]);
          return [...y.values];
        });
        assert.equal(products.flat(), [...roundedToBf16(weights)], kernels.instructionSet);
      }
    },
  );
}

/** Formats that are limited by arithmetic rather than by memory. */
const BYTE_TYPES: readonly Quantization[] = ['Q2_K', 'Q3_K', 'Q4_K', 'Q5_K'];

/** Whether the instruction set rounds both factors to bf16 for so many tokens. */
function roundsToBf16(set: string | undefined, type: Quantization, tokens: number): boolean {
  return BF16_SETS.includes(set) && QUANTIZATIONS[type].block > 1 && tokens >= 4;
}

function roundedToBf16(values: Float32Array): Float32Array {
  return values.map((value) => bf16ToFloat(floatToBf16(value)));
}

/** One row times one token: the sum of the products, and the sum of their absolute values. */
function rowProduct(
  weights: ArrayLike<number>,
  x: ArrayLike<number>,
  { columns, row, token }: { readonly columns: number; readonly row: number; readonly token: number },
): { readonly sum: number; readonly size: number } {
  let [sum, size] = [0, 0];
  for (let c = 0; c < columns; c++) {
    const product = (weights[row * columns + c] as number) * (x[token * columns + c] as number);
    sum += product;
    size += Math.abs(product);
  }
  return { sum, size };
}

/**
 * Values of rounded activations: 32 (formats of 32 weights a block) or 256 (superblocks) share the scale max|x|/16256
 * for 15 bits (127·128), max|x|/127 for 8; quotients are in single precision, ties to even.
 */
function roundedActivations(type: Quantization, x: Float32Array, steps: 1 | 128): Float64Array {
  const { block } = QUANTIZATIONS[type];
  if (block === 1) return Float64Array.from(x);
  const out = new Float64Array(x.length);
  for (let begin = 0; begin < x.length; begin += block) {
    const group = x.subarray(begin, begin + block);
    const largest = group.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    const [scale, inverse] = [Math.fround(largest / 16256), Math.fround((127 * steps) / largest)];
    const step = (128 / steps) * scale;
    for (const [i, value] of group.entries()) out[begin + i] = step * roundToEven(Math.fround(value * inverse));
  }
  return out;
}

function roundToEven(value: number): number {
  const below = Math.floor(value);
  if (value - below !== 0.5) return Math.round(value);
  return below % 2 === 0 ? below : below + 1;
}

testNative('a NaN among the activations is not lost by rounding', () => {
  for (const type of QUANTIZATION_NAMES) {
    const columns = QUANTIZATIONS[type].block * 3;
    const source = quantize(type, new Float32Array(columns).fill(0.5));
    for (const kernels of natives) {
      for (const tokens of [1, 9]) {
        const x = kernels.vector(new Float32Array(columns * tokens).fill(1));
        x.values[1] = Number.NaN;
        const y = kernels.vector(tokens);
        kernels.run([{ kind: 'multiply', matrix: kernels.matrix({ source, type, rows: 1, columns }), x, y }]);
        assert.ok(Number.isNaN(y.values[0]), `${kernels.instructionSet} ${type}`);
        if (tokens > 1) assert.not(Number.isNaN(y.values[1]));
      }
    }
  }
});

test.run();
