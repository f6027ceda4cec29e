import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { InputError } from '../../../engine/input/input-error.ts';
import { kernelsInMemory } from '../../../engine/kernels/reference/kernels-in-memory.ts';

test('kernels in memory multiply by the bytes that they are given, as they are when they are used', () => {
  const kernels = kernelsInMemory({ matrices: [], caches: [] });
  const weights = Float32Array.of(1, 2, 3, 4);
  const source = new Uint8Array(weights.buffer);
  const matrix = kernels.matrix({ source, type: 'F32', rows: 2, columns: 2 });
  const [x, y] = [kernels.vector([10, 1]), kernels.vector(2)];
  kernels.run([{ kind: 'multiply', matrix, x, y }]);
  assert.equal([...y.values], [12, 34]);
  source.fill(0);
  kernels.run([{ kind: 'multiply', matrix, x, y }]);
  assert.equal([...y.values], [0, 0]);
});

test('kernels in memory open no files', () => {
  const kernels = kernelsInMemory({ matrices: [], caches: [] });
  assert.throws(
    () => kernels.mapFile('model.gguf'),
    (error: unknown) => error instanceof InputError,
  );
  assert.throws(
    () => kernels.matrix({ source: { id: 0, path: 'model.gguf', size: 16 }, type: 'F32', rows: 2, columns: 2 }),
    /model\.gguf.*open no files/,
  );
});

test.run();
