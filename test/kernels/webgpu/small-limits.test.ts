import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Kernels } from '../../../engine/kernels/kernels.ts';
import { openKernels } from '../../../engine/kernels/open-kernels.ts';
import { quantizedBytes } from '../../../engine/model/quantization.ts';
import { testGpu } from '../../support/gpu.ts';
import { randomFrom } from '../random-from.ts';
import { wholeNumberActivations, wholeNumberRows } from '../whole-number-rows.ts';
import { changed, kernelsWith } from './kernels-with.ts';

const ROWS = 70;
/** Kernels on a device that can bind so many bytes; `matrices` are the sizes of buffers that were made for weights. */
async function openLimited(limit: number, units = false) {
  const matrices: number[] = [];
  const kernels = await kernelsWith(
    (device) => ({
      limits: changed(device.limits, { maxStorageBufferBindingSize: limit }),
      createBuffer(descriptor) {
        if (descriptor.label === 'IQ2_S' || descriptor.label === 'Q6_K') matrices.push(descriptor.size);
        return device.createBuffer(descriptor);
      },
    }),
    units,
  );
  return { kernels, matrices };
}

testGpu('a matrix larger than what shaders can bind is divided by rows, for products and as an embedding', async () => {
  const reference = openKernels({ implementation: 'reference' });
  for (const type of ['Q6_K', 'IQ2_S'] as const) {
    const columns = 512;
    const rowBytes = quantizedBytes(columns, type);
    const table = type === 'IQ2_S' ? 8 * 1024 : 0;
    // Thirty rows a buffer, and a few bytes.
    const { kernels, matrices } = await openLimited(30 * rowBytes + table + 20);
    const random = randomFrom(11);
    const source = wholeNumberRows(type, ROWS * columns, random);
    const [few, many] = [1, 9].map((tokens) => Float32Array.from(wholeNumberActivations(tokens * columns, random)));
    const compute = async (each: Kernels): Promise<number[][]> => {
      const matrix = each.matrix({ source, type, rows: ROWS, columns });
      const y = [few, many].map((x) => each.vector(((x?.length ?? 0) / columns) * ROWS));
      const rows = each.vector(3 * columns);
      each.run([
        ...[few, many].map((x, i) => ({ kind: 'multiply', matrix, x: each.vector(x ?? []), y: y[i] ?? rows }) as const),
        { kind: 'embed', table: matrix, tokens: [0, 69, 30], y: rows },
      ]);
      for (const vector of [...y, rows]) await each.read(vector);
      return [...y, rows].map(({ values }) => [...values]);
    };
    assert.equal(await compute(kernels), await compute(reference), type);
    assert.equal(matrices.length, 3);
    kernels.close();
  }
  reference.close();
});

testGpu('rows of an expert may lie in two parts of a matrix', async () => {
  const reference = openKernels({ implementation: 'reference' });
  const [columns, experts, used] = [512, 7, 2];
  // Twelve rows a buffer: in ten rows of an expert, a part begins within a group of rows too.
  for (const rows of [10, 8])
    for (const units of [false, true]) {
      const { kernels, matrices } = await openLimited(12 * quantizedBytes(columns, 'Q6_K') + 200, units);
      const random = randomFrom(12);
      const source = wholeNumberRows('Q6_K', experts * rows * columns, random);
      const inputs = [1, 9].map((tokens) => wholeNumberActivations(tokens * columns, random));
      const compute = async (each: Kernels): Promise<number[][]> => {
        const matrix = each.matrix({ source, type: 'Q6_K', rows: experts * rows, columns });
        const results = inputs.map((values) => {
          const choices = (values.length / columns) * used;
          const routes = each.vector(Array.from({ length: choices }, (_, i) => [(i * 3) % experts, 1]).flat());
          const [x, y] = [each.vector(values), each.vector(choices * rows)];
          each.run([{ kind: 'multiply-experts', matrix, experts, rows, routes, used, x, y }]);
          return y;
        });
        for (const y of results) await each.read(y);
        return results.map(({ values }) => [...values]);
      };
      assert.equal(await compute(kernels), await compute(reference), `${rows} rows, ${units ? '' : 'no '}units`);
      assert.ok(matrices.length > 4);
      kernels.close();
    }
  reference.close();
});

testGpu('a router of more experts than its shader holds is refused', async (kernels) => {
  const router = { experts: 1025, used: 1, scores: 'softmax', normalised: true } as const;
  const route = { kind: 'route', x: kernels.vector(1025), y: kernels.vector(2), router } as const;
  assert.throws(
    () => kernels.run([route]),
    /: layers of 1025 experts; at most 1024 are possible on a GPU: run on the CPU/,
  );
});

testGpu('more vectors than what shaders can bind are refused', async () => {
  const { kernels } = await openLimited(2 ** 22);
  assert.throws(
    () => kernels.vector(2 ** 21),
    ({ message }: Error) =>
      message === 'Test GPU: can bind 4.00 MiB, and activations take 8.00 MiB: run on the CPU instead',
  );
  kernels.close();
});

testGpu('heads that are too wide for its attention are refused', async (kernels) => {
  const wide = { type: 'F16', kvHeads: 1, capacity: 1, headSize: 1024 } as const;
  assert.throws(() => kernels.cache(wide), /: heads of 1024 values; at most \d+ are possible on a GPU: run on the CPU/);
});

test.run();
