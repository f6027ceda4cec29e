import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { createBackendTimes } from '../../engine/profile/backend-times.ts';

test('a product of many more weights takes longer, and a shape of zero is refused', () => {
  const kernels = openKernels({ implementation: 'reference' });
  try {
    const time = createBackendTimes(kernels, { repeats: 3 });
    const [small, large] = [time({ rows: 32, columns: 32, tokens: 1 }), time({ rows: 256, columns: 256, tokens: 4 })];
    assert.ok(small > 0);
    assert.ok(large > 4 * small, `${large} s, and ${small} s`);
    assert.throws(() => time({ rows: 32, columns: 0, tokens: 1 }), /has 0 columns; each size is a whole number/);
  } finally {
    kernels.close();
  }
});

test.run();
