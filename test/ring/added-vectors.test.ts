import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { TensorSource } from '../../engine/gguf/write-gguf.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { openGpuKernels } from '../../engine/kernels/webgpu/node-gpu.ts';
import type { RingGpu } from '../../engine/ring/device/device-part.ts';
import { loadTransformer } from '../../engine/runtime/load/load-transformer.ts';
import { ALL_MATRICES, withVectors } from '../runtime/added-vectors.ts';
import { madeFile } from '../runtime/made-file.ts';
import { nmse } from '../runtime/nmse.ts';
import { GPU_MISSING } from '../support/gpu.ts';
import { testIf } from '../support/needs.ts';
import { headHere, layoutOf, requestOf, SETTINGS, workerHere } from './ring-in-process.ts';

const LAYERS = 3;
const PROMPT = [1, 2, 3, 4, 5, 6, 7];
const folder = mkdtempSync(join(tmpdir(), 'hearth-ring-vectors-'));
test.after(() => rmSync(folder, { recursive: true }));
const gpu: RingGpu = { name: 'the GPU', open: async () => (await openGpuKernels()).kernels };

/** The logits after a prompt and after one more token: in one process, and in a ring. */
async function logitsOf(path: string, onGpu: boolean) {
  const kernels = openKernels({ threads: 1 });
  const one = loadTransformer(path, { kernels, context: SETTINGS.context, kvCache: 'F32', warn: () => {} });
  const expected = [PROMPT, [8]].map((tokens) => one.evaluate(tokens).slice());
  kernels.close();
  const { worker, member } = await workerHere('a', path, { headKeys: undefined, gpu: onGpu ? gpu : undefined });
  const { head } = headHere(path, [member], {});
  try {
    await head.gather();
    const last = { device: 'a', from: 1, to: LAYERS, ...(onGpu && { onGpu: [LAYERS - 1] }) };
    await head.assemble(layoutOf([{ device: 'head', from: 0, to: 1 }, last]));
    const request = requestOf(head);
    const found: Float32Array[] = [];
    for (const tokens of [PROMPT, [8]]) found.push((await request.evaluate(tokens)).slice());
    return { expected, found };
  } finally {
    await head.close();
    await worker.close();
  }
}

for (const all of [['bias'], ['scale'], ['bias', 'scale']] as const)
  for (const onGpu of [false, true])
    testIf(
      !onGpu || GPU_MISSING === undefined,
      GPU_MISSING ?? '',
      `a ring computes layers whose matrices all have a ${all.join(' and a ')}${onGpu ? ', on a GPU' : ''}`,
      async () => {
        const edit = (tensors: readonly TensorSource[]) =>
          all.reduce((given, what) => withVectors(ALL_MATRICES, what)(given), tensors);
        const path = await madeFile({ folder, name: `${all.join('-')}-${onGpu}`, shape: { layers: LAYERS }, edit });
        const { expected, found } = await logitsOf(path, onGpu);
        for (const [index, logits] of expected.entries()) {
          const error = nmse(found[index] as Float32Array, logits);
          assert.ok(error < 1e-9, `${index}: ${error}`);
        }
      },
    );

test.run();
