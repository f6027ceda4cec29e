import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Kernels } from '../../engine/kernels/kernels.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { createPartProducts, measurePaces, measureParts } from '../../engine/profile/part-probes.ts';

const PARTS = [
  { processor: 'gpu', rows: 64, columns: 32, tokens: 8 },
  { processor: 'npu', rows: 32, columns: 64, tokens: 2 },
  { processor: 'npu', rows: 64, columns: 32, tokens: 4 },
  { processor: 'gpu', rows: 64, columns: 32, tokens: 1 },
] as const;

/** Kernels that count the floats and bytes that they were asked to hold. */
function counting(): { kernels: Kernels; held: { floats: number; bytes: number } } {
  const opened = openKernels({ implementation: 'reference' });
  const held = { floats: 0, bytes: 0 };
  const kernels: Kernels = {
    ...opened,
    vector(contents) {
      held.floats += typeof contents === 'number' ? contents : contents.length;
      return opened.vector(contents);
    },
    matrix(matrix) {
      held.bytes += (matrix.source as Uint8Array).length;
      return opened.matrix(matrix);
    },
  };
  return { kernels, held };
}

test('parts are measured in their order, with the memory of the largest and of each weight once, however often', async () => {
  const [main, second] = [counting(), counting()];
  const products = createPartProducts({ main: main.kernels, second: second.kernels, format: 'Q8_0' }, PARTS);
  const labels: string[] = [];
  for (let round = 0; round < 3; round++) {
    const measured = await measureParts({ products, parts: PARTS, onPart: (label) => labels.push(label) });
    assert.equal(
      measured.map(({ seconds, ...part }) => part),
      PARTS,
    );
    assert.ok(measured.every(({ seconds }) => seconds > 0));
  }
  assert.is(labels.length, 3 * PARTS.length);
  // x has 8 · 32 values, y has 8 · 64; a matrix of 64 · 32 weights takes 64 blocks of 34 bytes.
  assert.equal(main.held, { floats: 256 + 512, bytes: 64 * 34 });
  assert.equal(second.held, { floats: 256 + 512, bytes: 2 * 64 * 34 });
});

test('paces are shares of what each processor does alone', async () => {
  const kernels = openKernels({ implementation: 'reference' });
  const shape = { rows: 64, columns: 32, tokens: 8 };
  const { gpu, npu } = await measurePaces(
    createPartProducts({ main: kernels, second: kernels, format: 'Q8_0' }, [shape]),
    shape,
  );
  assert.ok(gpu > 0 && gpu <= 1, `${gpu}`);
  assert.ok(npu > 0 && npu <= 1, `${npu}`);
});

test.run();
