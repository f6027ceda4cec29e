import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { NATIVE_SETS } from './native-sets.ts';

const IMPLEMENTATIONS = NATIVE_SETS.length > 0 ? (['reference', 'native'] as const) : (['reference'] as const);

for (const implementation of IMPLEMENTATIONS) {
  test(`${implementation}: a freed cache can't be used, others can`, () => {
    const kernels = openKernels({ implementation, threads: 1 });
    const [freed, kept] = [1, 2].map(() => kernels.cache({ type: 'F32', kvHeads: 1, capacity: 4, headSize: 16 }));
    assert.ok(freed !== undefined && kept !== undefined);
    kernels.freeCache(freed);
    const [keys, values] = [kernels.vector(16), kernels.vector(16)];
    assert.throws(() => kernels.run([{ kind: 'store', cache: freed, keys, values, position: 0 }]));
    kernels.run([{ kind: 'store', cache: kept, keys, values, position: 0 }]);
    kernels.close();
  });
}

test.run();
