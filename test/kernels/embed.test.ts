import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { dequantize } from '../../engine/gguf/formats/formats.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { QUANTIZATION_NAMES, QUANTIZATIONS, quantizedBytes } from '../../engine/model/quantization.ts';
import { NATIVE_SETS, testNative } from './native-sets.ts';
import { randomFrom } from './random-from.ts';

const ROWS = 40;

testNative('embedding rows are bit by bit what dequantize gives, for any bytes', () => {
  const random = randomFrom(3);
  for (const type of QUANTIZATION_NAMES) {
    const { block } = QUANTIZATIONS[type];
    const columns = block === 1 ? 37 : 3 * block;
    const source = Uint8Array.from({ length: ROWS * quantizedBytes(columns, type) }, () => Math.floor(256 * random()));
    const expected = new Float32Array(ROWS * columns);
    dequantize(type, source, expected);
    const tokens = Array.from({ length: ROWS }, (_, row) => ROWS - 1 - row);
    for (const instructionSet of NATIVE_SETS) {
      const kernels = openKernels({ implementation: 'native', instructionSet, threads: 2 });
      const y = kernels.vector(ROWS * columns);
      kernels.run([{ kind: 'embed', table: kernels.matrix({ source, type, rows: ROWS, columns }), tokens, y }]);
      for (const [i, token] of tokens.entries()) {
        const row = y.values.subarray(i * columns, (i + 1) * columns);
        assert.equal(
          bits(row),
          bits(expected.subarray(token * columns, (token + 1) * columns)),
          `${instructionSet} ${type}`,
        );
      }
      kernels.close();
    }
  }
});

/** The values' bits; all NaNs are the same. */
function bits(values: Float32Array): number[] {
  return Array.from(new Uint32Array(values.slice().buffer), (word) => ((word & 0x7fffffff) > 0x7f800000 ? -1 : word));
}

test('the reference looks rows up', () => {
  const kernels = openKernels({ implementation: 'reference' });
  const source = new Uint8Array(Float32Array.of(1, 2, 3, 4, 5, 6).buffer);
  const y = kernels.vector(4);
  kernels.run([
    { kind: 'embed', table: kernels.matrix({ source, type: 'F32', rows: 3, columns: 2 }), tokens: [2, 0], y },
  ]);
  assert.equal([...y.values], [5, 6, 1, 2]);
});

test.run();
