import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { attentionFlops, kvCacheBytes, layerSeconds, outputSeconds } from '../../engine/cost/layer-seconds.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import { near } from '../support/near.ts';
import { TOY_CPU, TOY_MODEL, TOY_WORKLOAD, toyGpu } from '../support/toy-cluster.ts';

const GPU = toyGpu('cuda', 1e6);

test('Eq. 12: each format at its own rate, and attention in F16', () => {
  // 6000/3000 + 2000/2000 s of weights; attention 4 × 10 heads × 10 tokens × 5 wide = 2000 FLOPs at 1000/s
  assert.is(attentionFlops(TOY_MODEL, TOY_WORKLOAD), 2000);
  assert.is(layerSeconds(TOY_MODEL, TOY_WORKLOAD, TOY_CPU).compute, 2 + 1 + 2);
  assert.is(layerSeconds(TOY_MODEL, TOY_WORKLOAD, GPU).compute, 1 + 0.5 + 0.5);
});

test('Eq. 13: copying the KV of one token: the latency, and 2 (25 + 25) bytes at the bandwidth', () => {
  near(layerSeconds(TOY_MODEL, TOY_WORKLOAD, TOY_CPU).kvCopy, 0.5 + 0.1);
  near(layerSeconds(TOY_MODEL, TOY_WORKLOAD, GPU).kvCopy, 0.25 + 0.02);
});

test('Eq. 14: loading the weights and the KV cache of ten tokens', () => {
  assert.is(kvCacheBytes(TOY_MODEL, TOY_WORKLOAD), 1000);
  assert.is(layerSeconds(TOY_MODEL, TOY_WORKLOAD, TOY_CPU).memory, 5);
  assert.is(layerSeconds(TOY_MODEL, TOY_WORKLOAD, GPU).memory, 1);
});

test('the output layer: its own multiplications, its bytes and the row of 200 that is looked up', () => {
  assert.equal(outputSeconds(TOY_MODEL, TOY_WORKLOAD, TOY_CPU), { compute: 2, kvCopy: 0, memory: 3.2 });
  assert.equal(outputSeconds(TOY_MODEL, TOY_WORKLOAD, GPU), { compute: 1, kvCopy: 0, memory: 0.64 });
});

test('a batch multiplies the work and the KV cache, and reads the weights once', () => {
  const three = createWorkload({ context: 10, batch: 3 });
  const layer = layerSeconds(TOY_MODEL, three, TOY_CPU);
  assert.is(layer.compute, 15);
  near(layer.kvCopy, 0.5 + 0.3);
  assert.is(layer.memory, (4000 + 3 * 1000) / 1000);
  assert.equal(outputSeconds(TOY_MODEL, three, TOY_CPU), { compute: 6, kvCopy: 0, memory: 3.6 });
});

test('without context there is no KV cache and no attention', () => {
  const empty = createWorkload({ context: 0 });
  const { compute, memory } = layerSeconds(TOY_MODEL, empty, TOY_CPU);
  assert.equal([compute, memory], [3, 4]);
});

test.run();
