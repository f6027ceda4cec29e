import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createHelmModel, loadCatalogue } from '../../datasets/load.ts';
import {
  activationPeakBytes,
  cacheTensorBytes,
  dynamicCacheBytes,
  reservedBytes,
  roundedBytes,
  segmentBytes,
} from '../../engine/cost/pytorch-memory.ts';

const MIB = 2 ** 20;
const model = createHelmModel(loadCatalogue(), 'Qwen3-8B');

test('requests are rounded to 512 bytes; segments have 2 MiB, 20 MiB, or their own size', () => {
  assert.equal([1, 512, 513].map(roundedBytes), [512, 512, 1024]);
  assert.equal([1, MIB, MIB + 1, 10 * MIB - 512, 10 * MIB, 10 * MIB + 1].map(segmentBytes), [
    2 * MIB,
    2 * MIB,
    20 * MIB,
    20 * MIB,
    10 * MIB,
    12 * MIB,
  ]);
});

test('blocks of 6 MiB lie three to a segment of 20 MiB', () => {
  assert.is(reservedBytes(3, 6 * MIB), 20 * MIB);
  assert.is(reservedBytes(4, 6 * MIB), 40 * MIB);
});

test('a DynamicCache has two tensors per layer, and one more while it is copied', () => {
  // 8 heads of 128 values of 2 bytes: 2048 tokens are 4 MiB of keys.
  assert.is(cacheTensorBytes({ model, tokens: 2048, batch: 1 }), 4 * MIB);
  // 73 tensors, five to a segment.
  assert.is(dynamicCacheBytes({ model, layers: 36, tokens: 2048, batch: 1 }), 15 * 20 * MIB);
  assert.is(dynamicCacheBytes({ model, layers: 0, tokens: 2048, batch: 1 }), 0);
});

test('logits of one position are the largest activations of a token, gate and up those of a long prompt', () => {
  assert.is(activationPeakBytes({ model, tokens: 1, batch: 1 }), 151_936 * 6);
  assert.is(activationPeakBytes({ model, tokens: 128, batch: 1 }), 128 * (4096 * 8 + 3 * 12_288 * 2));
});

test.run();
