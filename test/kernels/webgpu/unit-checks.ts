import * as assert from 'uvu/assert';
import { quantize } from '../../../engine/gguf/formats/formats.ts';
import type { Kernels } from '../../../engine/kernels/kernels.ts';
import { openKernels } from '../../../engine/kernels/open-kernels.ts';
import type { Operation } from '../../../engine/kernels/operation.ts';
import type { Vector } from '../../../engine/kernels/vector.ts';
import { UNIT_SHADERS } from '../../../engine/kernels/webgpu/shaders/unit-formats.ts';
import type { Quantization } from '../../../engine/model/quantization.ts';
import { nmse } from '../../runtime/nmse.ts';
import type { GpuCheck } from '../../support/gpu-variants.ts';
import { randomFrom, randomValues } from '../random-from.ts';

const reference = openKernels({ implementation: 'reference' });
const COLUMNS = 512;
/** Errors of activations in 8 bits, and of sums in float32 in another order. */
const NMSE = { packed: 3e-5, float: 1e-12 };
const FORMATS = Object.keys(UNIT_SHADERS) as (keyof typeof UNIT_SHADERS)[];

const weights = (type: Quantization, rows: number, seed: number): Uint8Array =>
  quantize(type, Float32Array.from(randomValues(randomFrom(seed), rows * COLUMNS)));

/** Values that `operations` write to the last of the vectors that they make, by these kernels and by the reference. */
async function both(kernels: Kernels, operations: (kernels: Kernels) => { run: Operation[]; results: Vector[] }) {
  const values = async (each: Kernels): Promise<Float32Array[]> => {
    const { run, results } = operations(each);
    each.run(run);
    for (const result of results) await each.read(result);
    return results.map((result) => result.values.slice());
  };
  const [found, expected] = [await values(kernels), await values(reference)];
  return expected.map((one, index) => nmse(found[index] as Float32Array, one));
}

const everyFormat = (formats: readonly (keyof typeof UNIT_SHADERS)[]): GpuCheck['check'] => {
  return async (kernels) => {
    for (const type of formats)
      for (const tokens of type === 'Q4_K' || type === 'F16' ? [1, 3, 8] : [1]) {
        const [error] = await both(kernels, (each) => {
          const matrix = each.matrix({ source: weights(type, 72, 3), type, rows: 72, columns: COLUMNS });
          const x = each.vector(randomValues(randomFrom(4), tokens * COLUMNS, 5));
          const y = each.vector(randomValues(randomFrom(5), tokens * 72, 3));
          const bias = each.vector(randomValues(randomFrom(6), 72, 3));
          return { run: [{ kind: 'multiply', matrix, x, y, bias, accumulate: true }], results: [y] };
        });
        const most = UNIT_SHADERS[type].packed ? NMSE.packed : NMSE.float;
        assert.ok((error as number) < most, `${type}, ${tokens} tokens: ${error}`);
      }
  };
};

const neighbours: GpuCheck['check'] = async (kernels) => {
  const errors = await both(kernels, (each) => {
    const matrix = (type: Quantization, rows: number, seed: number) =>
      each.matrix({ source: weights(type, rows, seed), type, rows, columns: COLUMNS });
    const vector = (length: number, seed: number) => each.vector(randomValues(randomFrom(seed), length, 3));
    const [x, h] = [vector(2 * COLUMNS, 1), vector(2 * COLUMNS, 2)];
    const [q, k, v] = [vector(2 * COLUMNS, 3), vector(2 * 128, 4), vector(2 * 64, 5)];
    const [gate, up] = [vector(2 * COLUMNS, 6), vector(2 * COLUMNS, 7)];
    const [y, z] = [vector(2 * 64, 8), vector(2 * 64, 18)];
    const angles = vector(2 * 64, 9);
    const run: Operation[] = [
      { kind: 'rms-norm', x, weight: vector(COLUMNS, 10), y: h, epsilon: 1e-5 },
      { kind: 'multiply', matrix: matrix('Q4_K', COLUMNS, 11), x: h, y: q },
      { kind: 'multiply', matrix: matrix('Q4_K', 128, 12), x: h, y: k },
      { kind: 'multiply', matrix: matrix('Q6_K', 64, 13), x: h, y: v },
      { kind: 'rope', x: q, angles, heads: 8, headSize: 64, pairs: 'halves' },
      { kind: 'rope', x: k, angles, heads: 2, headSize: 64, pairs: 'halves' },
      { kind: 'multiply', matrix: matrix('F16', COLUMNS, 14), x: h, y: gate },
      { kind: 'multiply', matrix: matrix('Q8_0', COLUMNS, 15), x: h, y: up },
      { kind: 'gate', activation: 'silu', gate, up, y: gate },
      { kind: 'multiply', matrix: matrix('MXFP4', 64, 16), x: gate, y, accumulate: true },
      { kind: 'gate', activation: 'gelu', gate: h, up, y: up },
      { kind: 'multiply', matrix: matrix('Q8_0', 64, 17), x: up, y: z },
    ];
    return { run, results: [h, q, k, v, gate, y, z] };
  });
  // The mean square of products of two uniform values is a ninth of the largest, that of one a third.
  const ofProducts = 2 * NMSE.packed;
  const most = [NMSE.float, ofProducts, ofProducts, ofProducts, ofProducts, 2 * ofProducts, 2 * ofProducts];
  errors.forEach((error, index) => {
    assert.ok(error < (most[index] as number), `result ${index}: ${error}`);
  });
};

/** A norm that is rounded, products of it with and without rounding between which it stays or changes. */
const changed: GpuCheck['check'] = async (kernels) => {
  const errors = await both(kernels, (each) => {
    const matrix = (type: Quantization, rows: number, seed: number) =>
      each.matrix({ source: weights(type, rows, seed), type, rows, columns: COLUMNS });
    const vector = (length: number, seed: number) => each.vector(randomValues(randomFrom(seed), length, 3));
    const [x, h, other] = [vector(COLUMNS, 1), vector(COLUMNS, 2), vector(COLUMNS, 3)];
    const [first, second] = [vector(64, 4), vector(64, 5)];
    const router = { experts: 32, used: 2, scores: 'logits', normalised: true } as const;
    const quantized = matrix('Q8_0', 64, 6);
    const run: Operation[] = [
      { kind: 'rms-norm', x, weight: vector(COLUMNS, 7), y: h, epsilon: 1e-5 },
      { kind: 'multiply', matrix: matrix('F32', 32, 8), x: h, y: other.slice(0, 32) },
      { kind: 'route', x: other.slice(0, 32), y: other.slice(64, 68), router },
      { kind: 'multiply', matrix: quantized, x: h, y: first },
      { kind: 'multiply', matrix: matrix('F32', 32, 9), x: other, y: h.slice(64, 96) },
      { kind: 'multiply', matrix: quantized, x: h, y: second },
    ];
    return { run, results: [first, second] };
  });
  for (const error of errors) assert.ok(error < NMSE.packed, `${errors}`);
};

const prepared = async (kernels: Kernels): Promise<void> => {
  const pass = () => {
    const cache = kernels.cache({ type: 'F16', kvHeads: 1, capacity: 4, headSize: 32 });
    const table = kernels.matrix({ source: weights('Q8_0', 8, 1), type: 'Q8_0', rows: 8, columns: COLUMNS });
    const matrix = kernels.matrix({ source: weights('Q4_K', 32, 2), type: 'Q4_K', rows: 32, columns: COLUMNS });
    const [x, k, y] = [kernels.vector(COLUMNS), kernels.vector(32), kernels.vector(32)];
    const operations = (token: number, position: number): Operation[] => [
      { kind: 'embed', table, tokens: [token], y: x },
      { kind: 'rms-norm', x, weight: kernels.vector(new Float32Array(COLUMNS).fill(2)), y: x, epsilon: 1e-5 },
      { kind: 'multiply', matrix, x, y: k },
      { kind: 'store', cache, keys: k, values: k, position },
      { kind: 'attention', cache, queries: k, y, heads: 1, position, window: 2, scale: 0.1 },
    ];
    return { operations, y };
  };
  const [own, other] = [pass(), pass()];
  const again = kernels.prepare?.(own.operations(0, 0));
  for (const [token, position] of [
    [1, 0],
    [7, 1],
    [5, 3],
  ] as const) {
    again?.run([token], position);
    kernels.run(other.operations(token, position));
    await kernels.read(own.y);
    await kernels.read(other.y);
    assert.equal([...own.y.values], [...other.y.values], `${token} at ${position}`);
    assert.ok(own.y.values.every((value) => value !== 0));
  }
  assert.throws(() => again?.run([1], 4), 'position 4 of prepared operations');
};

/** Products of a few tokens by units of 16 bytes, neighbours that share a dispatch, and prepared operations. */
export const UNIT_CHECKS: readonly GpuCheck[] = [
  {
    name: 'by units of 16 bytes, products of a few tokens are near those of the reference',
    on: 'rounded',
    check: everyFormat(FORMATS),
  },
  { name: 'the same without subgroups', on: 'rounded, by workgroups', check: everyFormat(['F16', 'Q6_K']) },
  { name: 'neighbours that share a dispatch give what each gives by itself', on: 'rounded', check: neighbours },
  {
    name: 'what is written to after it was rounded is rounded again',
    on: 'rounded',
    check: changed,
  },
  {
    name: 'prepared operations do what `run` does, at other positions and with other tokens',
    on: 'rounded',
    check: prepared,
  },
];
