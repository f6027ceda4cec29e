import { getBackend } from '@tensorflow/tfjs-core';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { trainNetwork } from '../../../engine/profile/predicted/train-network.ts';

test('networks are trained by TensorFlow’s library where tfjs-node is installed, by WebAssembly otherwise', async () => {
  const isInstalled = await import('@tensorflow/tfjs-node' as string).then(
    () => true,
    () => false,
  );
  const samples = [1, 2, 3, 4].map((tokens) => ({ rows: 64, columns: 64, tokens, seconds: tokens }));
  await trainNetwork(samples, { seed: 1, epochs: 1 });
  assert.is(getBackend(), isInstalled ? 'tensorflow' : 'wasm');
});

test.run();
