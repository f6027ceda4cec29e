import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { dequantize, quantize } from '../../engine/gguf/formats/formats.ts';
import { bf16ToFloat, floatToBf16 } from '../../engine/gguf/formats/half.ts';
import type { Kernels } from '../../engine/kernels/kernels.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { QUANTIZATION_NAMES, QUANTIZATIONS, type Quantization } from '../../engine/model/quantization.ts';
import { BF16_SETS } from '../support/rounding-sets.ts';
import { mostSingly } from './most-singly.ts';
import { NATIVE_SETS, testNative } from './native-sets.ts';
import { randomFrom, randomValues } from './random-from.ts';
import { wholeNumberActivations, wholeNumberRows } from './whole-number-rows.ts';

const reference = openKernels({ implementation: 'reference' });
const [natives, fastNatives, exactNatives] = [{}, { fast: true }, { exact: true }].map((rounding) =>
  NATIVE_SETS.map((instructionSet) =>
    openKernels({ implementation: 'native', instructionSet, threads: 2, ...rounding }),
  ),
) as [Kernels[], Kernels[], Kernels[]];

/** Shapes that are multiples of nothing but the block; numbers of tokens around the thresholds between kernels. */
const shapes = fc.record({
  rows: fc.integer({ min: 1, max: 70 }),
  blocks: fc.integer({ min: 1, max: 5 }),
  tokens: fc.constantFrom(1, 2, 3, 4, 5, 8, 9, 13, 16, 17, 33),
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
        const all = [...natives, ...exactNatives];
        const [expected, ...products] = [reference, ...all].map((kernels) => {
          const matrix = kernels.matrix({ source, offset, type, rows, columns });
          const y = kernels.vector(rows * tokens);
          kernels.run([{ kind: 'multiply', matrix, x: kernels.vector(x), y }]);
          return [...y.values];
        });
        for (const [i, product] of products.entries()) {
          const set = all[i]?.instructionSet;
          // The scaled weights of superblocks need more bits than bf16 has.
          if (i < natives.length && roundsToBf16(set, type, tokens, false) && QUANTIZATIONS[type].block === 256)
            continue;
          assert.equal(product, expected, set);
        }
      }),
      { seed: 1, numRuns: 25 },
    );
  });

  testNative(`${type}: factors are exact or rounded as promised; sums differ only by rounding`, () => {
    fc.assert(
      fc.property(shapes, ({ rows, blocks, tokens, seed }) => {
        const random = randomFrom(seed);
        const columns = columnsOf(type, blocks);
        const source = quantize(type, Float32Array.from(randomValues(random, rows * columns)));
        const x = Float32Array.from(randomValues(random, columns * tokens));
        const weights = new Float32Array(rows * columns);
        dequantize(type, source, weights);
        const exact = [
          [weights, x],
          [weights, roundedToWords(type, x)],
        ] as const;
        const bytes = [weights, roundedToBytes(type, x)] as const;
        const ternary = [weights, roundedWithWholeScales(x)] as const;
        const inUnits = [weights, roundedInSuperblocks(x)] as const;
        const halves = [roundedToBf16(weights), roundedToBf16(x)] as const;
        for (const [i, kernels] of [...natives, ...fastNatives, ...exactNatives].entries()) {
          const matrix = kernels.matrix({ source, type, rows, columns });
          const y = kernels.vector(rows * tokens);
          kernels.run([{ kind: 'multiply', matrix, x: kernels.vector(x), y }]);
          const inBytes = [
            ...(hasWholeScales(kernels.instructionSet, type) ? [ternary] : []),
            hasUnits(kernels.instructionSet, type, tokens) ? inUnits : bytes,
          ];
          const isFast = fastNatives.includes(kernels);
          const isRounded = roundsToBf16(kernels.instructionSet, type, tokens, isFast);
          const rounded = isRounded ? [halves] : [...inBytes, ...exact];
          for (const [at, value] of y.values.entries()) {
            const place = { columns, token: Math.floor(at / rows), row: at % rows };
            const products = (i < natives.length + fastNatives.length ? rounded : exact).map(([w, v]) =>
              rowProduct(w, v, place),
            );
            // A block's minimum is subtracted as a whole, so the terms of the sum are larger than the products.
            const close = products.some(({ sum, size }) => Math.abs(value - sum) <= 4e-6 * (size + 0.01));
            assert.ok(close, `${kernels.instructionSet}: ${value} is none of ${products.map(({ sum }) => sum)}`);
          }
        }
      }),
      { seed: 2, numRuns: 10 },
    );
  });
}

testNative('AVX-512, its tiles of bytes and AVX2 round activations to bytes, unless products are to be exact', () => {
  const rows = 5;
  for (const type of QUANTIZATION_NAMES.filter((name) => QUANTIZATIONS[name].block > 1)) {
    for (const tokens of [1, 2, 40]) {
      const columns = columnsOf(type, 2);
      const random = randomFrom(5);
      const source = quantize(type, Float32Array.from(randomValues(random, rows * columns)));
      const x = Float32Array.from(randomValues(random, columns * tokens));
      const weights = new Float32Array(rows * columns);
      dequantize(type, source, weights);
      const bytes = roundedToBytes(type, x);
      const ternary = roundedWithWholeScales(x);
      const inUnits = roundedInSuperblocks(x);
      for (const [i, kernels] of [...natives, ...exactNatives].entries()) {
        const { instructionSet = '' } = kernels;
        if (!instructionSet.startsWith('avx') && instructionSet !== 'amxint8') continue;
        const matrix = kernels.matrix({ source, type, rows, columns });
        const y = kernels.vector(rows * tokens);
        kernels.run([{ kind: 'multiply', matrix, x: kernels.vector(x), y }]);
        const near = y.values.every((value, at) => {
          const place = { columns, token: Math.floor(at / rows), row: at % rows };
          const whole = tokens <= mostSingly(instructionSet, type) && hasWholeScales(instructionSet, type);
          const own = hasUnits(instructionSet, type, tokens) ? inUnits : whole ? ternary : bytes;
          const { sum, size } = rowProduct(weights, own, place);
          return Math.abs(value - sum) <= 4e-6 * size;
        });
        assert.is(near, i < natives.length, `${instructionSet}, ${type}, ${tokens} tokens`);
      }
    }
  }
});

for (const type of QUANTIZATION_NAMES.filter((name) => name !== 'F32')) {
  testNative(`${type}: where many tokens are multiplied in bf16, weights are rounded to it once`, () => {
    const columns = columnsOf(type, 2);
    const source = quantize(type, Float32Array.from(randomValues(randomFrom(7), columns)));
    const weights = new Float32Array(columns);
    dequantize(type, source, weights);
    for (const kernels of fastNatives.filter(({ instructionSet }) =>
      roundsToBf16(instructionSet, type, columns, true),
    )) {
      const matrix = kernels.matrix({ source, type, rows: 1, columns });
      // Each token takes out one weight.
      const x = kernels.vector(columns ** 2);
      for (let token = 0; token < columns; token++) x.values[token * columns + token] = 1;
      const y = kernels.vector(columns);
      kernels.run([{ kind: 'multiply', matrix, x, y }]);
      assert.equal([...y.values], [...roundedToBf16(weights)], kernels.instructionSet);
    }
  });
}

/** Whether the instruction set rounds both factors to bf16 for so many tokens. */
function roundsToBf16(set: string | undefined, type: Quantization, tokens: number, isFast: boolean): boolean {
  if (type === 'F32' || (type === 'F16' && !isFast)) return false;
  if (type === 'F16' || type === 'BF16') return BF16_SETS.includes(set) && tokens > mostSingly(set, type);
  return set === 'amx' && tokens > mostSingly(set, type);
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

/** Values of activations rounded to bytes: 32 share the scale max|x|/127. */
function roundedToBytes(type: Quantization, x: Float32Array): Float64Array {
  return roundedInGroups(type, x, { group: 32, most: 127 });
}

/** Whether the instruction set makes scales whole numbers where few tokens are multiplied. */
function hasWholeScales(set: string | undefined, type: Quantization): boolean {
  return (set === 'avx2' || set === 'avxvnni') && (type === 'TQ1_0' || type === 'TQ2_0');
}

/** Whether the scales of a superblock's activations are multiples of a unit, for so many tokens. */
function hasUnits(set: string | undefined, type: Quantization, tokens: number): boolean {
  return (
    (set?.startsWith('avx512') === true || set === 'amxint8') &&
    QUANTIZATIONS[type].block === 256 &&
    tokens > mostSingly(set, type)
  );
}

/**
 * Values rounded to bytes: 32 share a scale, the smallest by which none of them is above 127, among eight: that of the
 * largest of 256, and eighths of it.
 */
function roundedInSuperblocks(x: Float32Array): Float64Array {
  const out = new Float64Array(x.length);
  const largestOf = (values: Float32Array): number =>
    values.reduce((found, value) => Math.max(found, Math.abs(value)), 0);
  for (let begin = 0; begin < x.length; begin += 256) {
    const largest = largestOf(x.subarray(begin, begin + 256));
    const [unit, inverse] = [Math.fround(largest / (8 * 127)), Math.fround((8 * 127) / largest)];
    for (let group = begin; group < Math.min(begin + 256, x.length); group += 32) {
      const values = x.subarray(group, group + 32);
      const units = Math.ceil((8 * largestOf(values)) / largest);
      const own = Math.fround(inverse / units);
      for (const [i, value] of values.entries()) out[group + i] = unit * units * roundToEven(Math.fround(value * own));
    }
  }
  return out;
}

/** Values rounded to bytes, with scales that are multiples of a power of two: the largest of eight is 2048 to 4096 of it. */
function roundedWithWholeScales(x: Float32Array): Float64Array {
  const out = roundedInGroups('TQ2_0', x, { group: 32, most: 127 });
  for (let begin = 0; begin < x.length; begin += 256) {
    const scales = Array.from({ length: 8 }, (_, group) => {
      const values = x.subarray(begin + 32 * group, begin + 32 * (group + 1));
      return Math.fround(values.reduce((found, value) => Math.max(found, Math.abs(value)), 0) / 127);
    });
    const unit = 2 ** (Math.floor(Math.log2(Math.max(...scales))) - 11);
    for (let i = begin; i < Math.min(begin + 256, x.length); i++) {
      const scale = scales[Math.floor((i - begin) / 32)] as number;
      out[i] = (out[i] as number) * ((roundToEven(scale / unit) * unit) / scale);
    }
  }
  return out;
}

/** Values of activations rounded to 15 bits: as many as a block has weights share the scale max|x|/16256 (127·128). */
function roundedToWords(type: Quantization, x: Float32Array): Float64Array {
  return roundedInGroups(type, x, { group: QUANTIZATIONS[type].block, most: 16256 });
}

/** Quotients are in single precision, ties to even. */
function roundedInGroups(
  type: Quantization,
  x: Float32Array,
  { group, most }: { readonly group: number; readonly most: number },
): Float64Array {
  if (QUANTIZATIONS[type].block === 1) return Float64Array.from(x);
  const out = new Float64Array(x.length);
  for (let begin = 0; begin < x.length; begin += group) {
    const values = x.subarray(begin, begin + group);
    const largest = values.reduce((found, value) => Math.max(found, Math.abs(value)), 0);
    const [scale, inverse] = [Math.fround(largest / most), Math.fround(most / largest)];
    for (const [i, value] of values.entries()) out[begin + i] = scale * roundToEven(Math.fround(value * inverse));
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
    for (const kernels of [...natives, ...exactNatives]) {
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
