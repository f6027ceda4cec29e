import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { openGpuKernels } from '../../engine/kernels/webgpu/node-gpu.ts';
import type { WebgpuKernels } from '../../engine/kernels/webgpu/webgpu-kernels.ts';
import { quantizedBytes } from '../../engine/model/quantization.ts';
import { createGpuProbes, hostLinkOf, probedWeightBytes } from '../../engine/profile/gpu-probes.ts';
import { testGpu } from '../support/gpu.ts';

const [MIB, GIB] = [2 ** 20, 2 ** 30];

const folder = mkdtempSync(join(tmpdir(), 'hearth-gpu-probes-'));
test.after(() => rmSync(folder, { recursive: true }));

test('weights of all formats take at most half of a GPU’s memory, and more than caches hold where there is room', () => {
  assert.is(probedWeightBytes(24 * GIB, 25), 128 * MIB);
  assert.is(probedWeightBytes(4 * GIB, 25), (2 * GIB) / 25);
  assert.is(probedWeightBytes(512 * MIB, 25), 32 * MIB);
});

testGpu('a GPU is measured with one copy of the weights of a format', async () => {
  const weightsFile = join(folder, 'weights');
  writeFileSync(weightsFile, Buffer.alloc(32 * MIB, 0x2a));
  const opened = await openGpuKernels();
  let uploaded = 0;
  const kernels: WebgpuKernels = {
    ...opened.kernels,
    matrix(matrix) {
      uploaded += matrix.rows * quantizedBytes(matrix.columns, matrix.type);
      return opened.kernels.matrix(matrix);
    },
  };
  const cpu = openKernels({ implementation: 'reference' });
  const gpu = { ...opened, software: true, kernels };
  const probes = await createGpuProbes({ gpu, cpu, weightsFile, formats: ['Q8_0'], freeRam: 64 * MIB });
  // Besides: a small product, which warms up and crosses, and models of very small layers.
  assert.ok(uploaded > 25 * MIB && uploaded < 32 * MIB + 16 * MIB, `${uploaded}`);
  const seen: string[] = [];
  await probes.round((label) => seen.push(label));
  assert.equal(seen, probes.labels);
  await probes.round();
  const { processor, memory, ...measured } = probes.measures();
  assert.is(memory.bytes, 64 * MIB);
  for (const products of [processor.vectorProducts, processor.matrixProducts, processor.fewPrompt]) {
    assert.equal([...products.keys()], ['Q8_0']);
    const seconds = products.get('Q8_0')?.median ?? Number.NaN;
    assert.ok(seconds > 1e-14 && seconds < 1e-5, `${seconds} s per weight`);
  }
  const { latency, bandwidth } = hostLinkOf(measured);
  assert.ok(latency >= 0 && latency < 1, `${latency} s`);
  assert.ok(bandwidth > 1e6 && bandwidth < 1e12, `${bandwidth} bytes per second`);
  kernels.close();
  cpu.close();
});

test.run();
