import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { dequantize, quantize } from '../../../engine/gguf/formats/formats.ts';
import { randomStream } from '../../../engine/input/random-stream.ts';
import { QUANTIZATION_NAMES, QUANTIZATIONS, type Quantization } from '../../../engine/model/quantization.ts';

function roundTrip(type: Quantization, values: Float32Array): Float32Array {
  const out = new Float32Array(values.length);
  dequantize(type, quantize(type, values), out);
  return out;
}

function rmse(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let sum = 0;
  for (let index = 0; index < a.length; index++) sum += ((a[index] as number) - (b[index] as number)) ** 2;
  return Math.sqrt(sum / a.length);
}

const { normal } = randomStream(1, 'normal values');
const NORMAL = Float32Array.from({ length: 256 * 400 }, normal);

/** Largest root mean square error of each encoder on normal values of deviation 1; seeds change it by ±2 %. */
const MOST: Readonly<Record<Quantization, number>> = {
  F32: 0,
  F16: 0.00022,
  BF16: 0.0018,
  Q8_0: 0.0055,
  Q4_0: 0.088,
  Q4_1: 0.08,
  Q5_0: 0.044,
  Q5_1: 0.039,
  Q2_K: 0.281,
  Q3_K: 0.151,
  Q4_K: 0.076,
  Q5_K: 0.0378,
  Q6_K: 0.0187,
  IQ4_NL: 0.08,
  IQ4_XS: 0.08,
  MXFP4: 0.115,
  TQ1_0: 0.444,
  TQ2_0: 0.444,
  IQ2_XXS: 0.385,
  IQ2_XS: 0.338,
  IQ2_S: 0.293,
  IQ3_XXS: 0.209,
  IQ3_S: 0.162,
  IQ1_S: 0.515,
  IQ1_M: 0.46,
};

for (const type of QUANTIZATION_NAMES) {
  test(`${type}: normal values are encoded with an error of at most ${MOST[type]}`, () => {
    const error = rmse(roundTrip(type, NORMAL), NORMAL);
    assert.ok(error <= MOST[type], String(error));
  });

  test(`${type}: zeros stay zeros, and blocks are independent`, () => {
    const { block } = QUANTIZATIONS[type];
    assert.equal(roundTrip(type, new Float32Array(block)), new Float32Array(block));
    const values = new Float32Array(3 * block);
    values.set(NORMAL.subarray(0, block), block);
    const out = roundTrip(type, values);
    assert.equal(out.subarray(block, 2 * block), roundTrip(type, NORMAL.slice(0, block)));
    assert.ok(out.subarray(0, block).every((value) => value === 0));
  });
}

/**
 * Error of plain rounding: each group from its smallest to its largest value (affine), or to the value furthest from
 * zero (symmetric).
 */
function plainError(width: number, levels: number, symmetric: boolean): number {
  const out = new Float32Array(NORMAL.length);
  for (let from = 0; from < NORMAL.length; from += width) {
    const part = NORMAL.subarray(from, from + width);
    const low = symmetric ? Math.min(...part) : Math.min(0, ...part);
    const high = Math.max(...part);
    const furthest = -low > high ? low : high;
    const step = symmetric ? furthest / -levels : (high - low) / levels;
    part.forEach((value, index) => {
      out[from + index] = symmetric
        ? step * Math.min(levels - 1, Math.round(value / step))
        : step * Math.round((value - low) / step) + low;
    });
  }
  return rmse(out, NORMAL);
}

const PLAIN: readonly [Quantization, number, number, boolean][] = [
  ['Q2_K', 16, 3, false],
  ['Q3_K', 16, 4, true],
  ['Q4_K', 32, 15, false],
  ['Q5_K', 32, 31, false],
  ['Q6_K', 16, 32, true],
];

for (const [type, width, levels, symmetric] of PLAIN) {
  test(`${type} has a smaller error than plain rounding of each group, although its scales are rounded too`, () => {
    const [plain, fitted] = [plainError(width, levels, symmetric), rmse(roundTrip(type, NORMAL), NORMAL)];
    assert.ok(fitted < plain, `${fitted} against ${plain}`);
  });
}

/** Formats whose scales are fitted to weights. */
const FITTED: readonly Quantization[] = ['Q2_K', 'Q3_K', 'Q4_K', 'Q5_K', 'Q6_K', 'Q4_0', 'Q5_0'];

/** Σ w (x − x̂)², with weights that repeat. */
function weightedError(out: Float32Array, weights: Float32Array): number {
  return out.reduce(
    (sum, value, index) => sum + (weights[index % weights.length] as number) * (value - (NORMAL[index] as number)) ** 2,
    0,
  );
}

for (const type of FITTED) {
  test(`${type}: the search has no larger error than the quick fit, and weights lower the weighted error`, () => {
    const coded = (weights?: Float32Array): Float32Array => {
      const out = new Float32Array(NORMAL.length);
      dequantize(type, quantize(type, NORMAL, weights), out);
      return out;
    };
    const even = new Float32Array(512).fill(1);
    const uneven = Float32Array.from(even, (_, column) => (column % 5 === 0 ? 30 : 1));
    const searched = coded(even);
    assert.ok(weightedError(searched, even) <= weightedError(coded(), even));
    // Of 16 or 32 values, a fifth of which counts.
    assert.ok(weightedError(coded(uneven), uneven) < 0.98 * weightedError(searched, uneven));
  });
}

test('Q8_0 has an error of at most half a step for any scale', () => {
  const block = fc.array(fc.double({ min: -1, max: 1, noNaN: true }), { minLength: 32, maxLength: 32 });
  fc.assert(
    fc.property(block, fc.integer({ min: -8, max: 12 }), (units, exponent) => {
      const values = Float32Array.from(units, (unit) => unit * 2 ** exponent);
      const out = roundTrip('Q8_0', values);
      // The scale is rounded to 11 bits, which moves 127 steps by 1/16 of one; below 2⁻¹⁴ it has fewer bits.
      const step = Math.max(...values.map(Math.abs)) / 127;
      const most = step * (0.5 + 127 / 2048) + 127 * 2 ** -25;
      return values.every((value, index) => Math.abs(value - (out[index] as number)) <= most);
    }),
    { seed: 1, numRuns: 300 },
  );
});

test('values up to 65,504 give finite weights in every format', () => {
  const { uniform } = randomStream(3, 'large');
  const large = Float32Array.from({ length: 512 }, (_, index) => (index % 7 === 0 ? 65_504 : uniform(-65_504, 65_504)));
  for (const type of QUANTIZATION_NAMES) assert.ok(roundTrip(type, large).every(Number.isFinite), type);
});

test('a value that no block can hold is refused with its index', () => {
  const values = new Float32Array(32);
  values[5] = Number.NaN;
  assert.throws(() => quantize('Q8_0', values), 'Q8_0: value 5 is NaN; finite values up to ±65504 are allowed');
  values[5] = 70_000;
  assert.throws(() => quantize('Q4_0', values), 'Q4_0: value 5 is 70000');
  assert.throws(() => quantize('Q4_K', values), 'Q4_K: 32 values are not a whole number of blocks of 256');
});

test.run();
