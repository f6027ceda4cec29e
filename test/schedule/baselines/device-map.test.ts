import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { deviceMap } from '../../../engine/schedule/baselines/device-map.ts';
import { TOY_MODEL } from '../../support/toy-cluster.ts';

/** An embedding of 20,000 bytes, four layers of 4000, an output layer of 3000. */
const map = (gpu: number, ram: number, model = TOY_MODEL) => {
  const { gpuLayers, outputOnGpu, gpuBytes, ramBytes, diskBytes } = deviceMap(model, { gpu, ram });
  return [gpuLayers, outputOnGpu, gpuBytes, ramBytes, diskBytes];
};

test('a tenth of the GPU stays free, and room for the largest module that is left', () => {
  // Four layers: 0.9 × 43,333.4 ≥ 39,000 in all.
  assert.equal(map(43_334, 1e6), [4, true, 39_000, 0, 0]);
  // The last layer takes 4000 and leaves room for the 3000 of the output layer, which follows it to the RAM.
  assert.equal(map(43_333, 1e6), [3, false, 32_000, 7000, 0]);
});

test('RAM keeps back the largest module too; what is left would go to the disk', () => {
  // 3 layers on the GPU; the last layer needs 4000 + 3000, the output layer then 3000.
  assert.equal(map(43_333, 7000), [3, false, 32_000, 7000, 0]);
  assert.equal(map(43_333, 6999), [3, false, 32_000, 0, 7000]);
});

test('a tied output layer is where the embedding is, and takes nothing more', () => {
  const tied = { ...TOY_MODEL, tiedEmbeddings: true, output: { ...TOY_MODEL.output, bytes: 20_000 } };
  assert.equal(map(40_000, 1e6, tied), [4, true, 36_000, 0, 0]);
  // The third layer would leave no room for the fourth.
  assert.equal(map(39_999, 1e6, tied), [2, true, 28_000, 8000, 0]);
});

test.run();
