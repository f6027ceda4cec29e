import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { withFile } from '../../engine/gguf/file-source.ts';
import { modelFromGguf } from '../../engine/gguf/model-from-gguf.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { GPU_FORMATS } from '../../engine/kernels/webgpu/shaders/formats.ts';
import { weightsLoader } from '../../engine/runtime/transformer-weights.ts';
import { madeFile } from './made-file.ts';

test('a tensor in a format that a GPU does not read is refused in a line that names it and what can be done', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hearth-unread-'));
  const kernels = openKernels({ implementation: 'reference' });
  try {
    const path = await madeFile({ folder, name: 'lattices', mix: 'IQ2_XXS' });
    const gguf = withFile(path, readGguf);
    const shape = modelFromGguf(gguf);
    const file = kernels.mapFile(path);
    const load = (formats: typeof GPU_FORMATS | undefined) =>
      withFile(path, (bytes) => {
        const limited = formats === undefined ? kernels : { ...kernels, formats };
        return weightsLoader({ gguf, bytes, file, kernels: limited }, shape).layer(1);
      });
    assert.is(load(undefined).gate.matrix.type, 'IQ2_XXS');
    assert.throws(
      () => load(GPU_FORMATS),
      `${path}: blk.1.attn_q.weight is in IQ2_XXS, which GPUs don't read here; leave its layer to the CPU (--gpu-layers), or give a model in F32, F16, `,
    );
  } finally {
    kernels.close();
    rmSync(folder, { recursive: true });
  }
});

test.run();
