import { readFileSync } from 'node:fs';
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

test('package.json and its lock name tfjs-node as an optional peer, of the version of the other parts', () => {
  const read = (file: string) => JSON.parse(readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8'));
  for (const packed of [read('package.json'), read('package-lock.json').packages['']]) {
    assert.equal(packed.peerDependencies, { '@tensorflow/tfjs-node': packed.dependencies['@tensorflow/tfjs-core'] });
    assert.equal(packed.peerDependenciesMeta, { '@tensorflow/tfjs-node': { optional: true } });
  }
});

test.run();
