import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { NATIVE_SETS } from './native-sets.ts';

const IMPLEMENTATIONS = NATIVE_SETS.length > 0 ? (['reference', 'native'] as const) : (['reference'] as const);
const source = new Uint8Array(Float32Array.of(1, 2, 3, 4, 5, 6).buffer);

for (const implementation of IMPLEMENTATIONS) {
  test(`${implementation}: results are written into memory that threads share`, () => {
    const kernels = openKernels({ implementation, threads: 1 });
    const values = new Float32Array(new SharedArrayBuffer(4 * 8));
    values.set([10, 1], 1);
    const shared = kernels.sharedVector?.(values);
    assert.ok(shared !== undefined);
    const matrix = kernels.matrix({ source, type: 'F32', rows: 3, columns: 2 });
    kernels.run([{ kind: 'multiply', matrix, x: shared.slice(1, 3), y: shared.slice(4, 7) }]);
    assert.equal([...values], [0, 10, 1, 0, 12, 34, 56, 0]);
    assert.throws(() => kernels.sharedVector?.(new Float32Array(8)), /not in a SharedArrayBuffer/);
    kernels.close();
    // The memory is the caller's.
    assert.is(values[4], 12);
  });
}

test.run();
