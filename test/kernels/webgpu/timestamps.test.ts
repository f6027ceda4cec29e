import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openGpuKernels } from '../../../engine/kernels/webgpu/node-gpu.ts';
import { deviceClockOf } from '../../../engine/profile/gpu-probes.ts';
import { testGpu } from '../../support/gpu.ts';

testGpu('a device with timestamps times operations, and nothing else, by its own clock', async () => {
  const { kernels } = await openGpuKernels();
  const clock = deviceClockOf(kernels);
  if (clock === undefined) return;
  const x = kernels.vector(2 ** 20);
  const add = { kind: 'add', x, y: x } as const;
  await kernels.read(x);
  const start = performance.now();
  const { wall, own } = await clock.time(() => kernels.run(Array.from({ length: 40 }, () => add)));
  const passed = (performance.now() - start) / 1000;
  assert.ok(own > 0 && own <= passed, `${own} of ${passed} s`);
  assert.is(wall, own);
  assert.is((await clock.time(() => {})).own, 0);
  kernels.run([add]);
  assert.is((await clock.time(() => {})).own, 0);
  kernels.close();
});

testGpu('a device without them is timed until its results are there', async () => {
  const { kernels } = await openGpuKernels({ without: ['timestamp-query'] });
  assert.is(deviceClockOf(kernels), undefined);
  kernels.close();
});

test.run();
