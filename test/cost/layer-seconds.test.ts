import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  activationValueBytes,
  attentionFlops,
  attentionRates,
  kvCacheBytes,
  layerSeconds,
  outputSeconds,
  prefillLayerSeconds,
  reservedKvBytes,
} from '../../engine/cost/layer-seconds.ts';
import type { Device } from '../../engine/hardware/device.ts';
import type { LayerKind } from '../../engine/model/layer-kind.ts';
import { countKinds } from '../../engine/model/model.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import { near } from '../support/near.ts';
import { TOY_CPU, TOY_MODEL, TOY_WORKLOAD, toyGpu } from '../support/toy-cluster.ts';

const GPU = toyGpu('cuda', 1e6);

test('Eq. 12: each format is computed at its own rate, and attention at that of F16', () => {
  // 6000/3000 + 2000/2000 s of weights; attention 4 × 10 heads × 10 tokens × 5 wide = 2000 FLOPs at 1000/s
  assert.is(attentionFlops(TOY_MODEL, TOY_WORKLOAD), 2000);
  assert.is(layerSeconds(TOY_MODEL, TOY_WORKLOAD, TOY_CPU).compute, 2 + 1 + 2);
  assert.is(layerSeconds(TOY_MODEL, TOY_WORKLOAD, GPU).compute, 1 + 0.5 + 0.5);
});

test('Eq. 13: copying the KV of one token takes the latency and 2 (25 + 25) bytes at the bandwidth', () => {
  near(layerSeconds(TOY_MODEL, TOY_WORKLOAD, TOY_CPU).kvCopy, 0.5 + 0.1);
  near(layerSeconds(TOY_MODEL, TOY_WORKLOAD, GPU).kvCopy, 0.25 + 0.02);
});

test('Eq. 14: weights and the KV cache of ten tokens are loaded', () => {
  assert.is(kvCacheBytes(TOY_MODEL, TOY_WORKLOAD), 1000);
  assert.is(layerSeconds(TOY_MODEL, TOY_WORKLOAD, TOY_CPU).memory, 5);
  assert.is(layerSeconds(TOY_MODEL, TOY_WORKLOAD, GPU).memory, 1);
});

test('a quantized cache takes its bytes, and at measured rates of attention its own or the time of F16', () => {
  const [half, bytes] = [createWorkload({ context: 32 }), createWorkload({ context: 32, kvFormat: 'Q8_0' })];
  const [one, other] = [half, bytes].map((workload) => kvCacheBytes(TOY_MODEL, workload)) as [number, number];
  near(other / one, 34 / 64);
  near(reservedKvBytes(TOY_MODEL, bytes) / one, 34 / 64);
  const attention = { memory: 100, cache: 50 };
  const cpu = { ...TOY_CPU, attention };
  near(layerSeconds(TOY_MODEL, bytes, cpu).memory, layerSeconds(TOY_MODEL, half, cpu).memory);
  assert.ok(layerSeconds(TOY_MODEL, bytes, TOY_CPU).memory < layerSeconds(TOY_MODEL, half, TOY_CPU).memory);
  const own = { ...attention, quantized: { Q8_0: { memory: 100, cache: 25 } } };
  assert.equal(attentionRates(own, 'Q8_0'), { memory: 100, cache: 25 });
  near(attentionRates(own, 'Q4_0').memory, (100 * 18) / 64);
  assert.is(attentionRates(own, 'F32').memory, 100);
});

test('reserved context takes memory but no time', () => {
  const roomy = createWorkload({ context: 10, reservedContext: 30 });
  assert.is(reservedKvBytes(TOY_MODEL, roomy), 3000);
  assert.is(kvCacheBytes(TOY_MODEL, roomy), 1000);
  assert.equal(layerSeconds(TOY_MODEL, roomy, TOY_CPU), layerSeconds(TOY_MODEL, TOY_WORKLOAD, TOY_CPU));
  assert.is(reservedKvBytes(TOY_MODEL, TOY_WORKLOAD), 1000);
  // A cache larger than its reservation, as in a long simulation, takes what it holds.
  assert.is(reservedKvBytes(TOY_MODEL, { ...roomy, context: 40 }), 4000);
  assert.throws(
    () => createWorkload({ context: 10, reservedContext: 9 }),
    /workload.reservedContext: 9 tokens have no room for a context of 10/,
  );
});

test('the output layer takes its multiplications, its bytes and the row of 200 bytes that is looked up', () => {
  assert.equal(outputSeconds(TOY_MODEL, TOY_WORKLOAD, TOY_CPU), { compute: 2, kvCopy: 0, memory: 3.2, overhead: 0 });
  assert.equal(outputSeconds(TOY_MODEL, TOY_WORKLOAD, GPU), { compute: 1, kvCopy: 0, memory: 0.64, overhead: 0 });
});

test('a batch multiplies computation and KV cache but reads the weights once', () => {
  const three = createWorkload({ context: 10, batch: 3 });
  const layer = layerSeconds(TOY_MODEL, three, TOY_CPU);
  assert.is(layer.compute, 15);
  near(layer.kvCopy, 0.5 + 0.3);
  assert.is(layer.memory, (4000 + 3 * 1000) / 1000);
  assert.equal(outputSeconds(TOY_MODEL, three, TOY_CPU), { compute: 6, kvCopy: 0, memory: 3.6, overhead: 0 });
});

test('without context there is no KV cache and no attention', () => {
  const empty = createWorkload({ context: 0 });
  const { compute, memory } = layerSeconds(TOY_MODEL, empty, TOY_CPU);
  assert.equal([compute, memory], [3, 4]);
});

/** KV cache at 250 B/s from memory and at 500 B/s from a cache; 2 s per layer; values at 820 B/s; prompts twice as fast. */
const MEASURED: Device['cpu'] = {
  ...TOY_CPU,
  promptFlops: { ...TOY_CPU.flops, Q4_K: 6000, Q6_K: 4000 },
  attention: { memory: 250, cache: 500 },
  dispatch: 2,
  activationBandwidth: 820,
};

test('a measured attention rate replaces the FLOPs and the bandwidth of the KV cache', () => {
  const { compute, memory } = layerSeconds(TOY_MODEL, TOY_WORKLOAD, MEASURED);
  assert.equal([compute, memory], [3, 4 + 1000 / 250]);
});

test('overhead is one dispatch, and 4 B for each of 2·25 + 15·5 + 50 values of every token', () => {
  assert.is(activationValueBytes(TOY_MODEL.mean), 700);
  near(layerSeconds(TOY_MODEL, TOY_WORKLOAD, MEASURED).overhead, 2 + 700 / 820);
  near(prefillLayerSeconds(TOY_MODEL, createWorkload({ promptTokens: 10 }), MEASURED).overhead, 2 + 7000 / 820);
  assert.is(prefillLayerSeconds(TOY_MODEL, TOY_WORKLOAD, TOY_CPU).overhead, 0);
  assert.is(layerSeconds(TOY_MODEL, TOY_WORKLOAD, { ...TOY_CPU, dispatch: 2 }).overhead, 2);
});

test('a prompt of ten tokens uses the rates of many tokens, with five cached positions for each', () => {
  const { compute, memory, kvCopy } = prefillLayerSeconds(TOY_MODEL, createWorkload({ promptTokens: 10 }), MEASURED);
  // 6000/3000 + 2000/2000 s for the first token, 9 · (6000/6000 + 2000/4000) s for the others; 10 tokens · 5 positions · 100 B of KV cache at 500 B/s
  near(compute, 3 + 13.5 + 10);
  near(memory, (4000 + 1000) / 1000);
  near(kvCopy, 0.5 + 1);
});

test('a prompt without measured rates uses the rates of a single token, and F16 for attention', () => {
  // 10 · 3 s of products; attention 4 × 10 heads × 5 wide × 10 tokens × 5 positions = 10,000 FLOPs at 1000/s
  near(prefillLayerSeconds(TOY_MODEL, createWorkload({ promptTokens: 10 }), TOY_CPU).compute, 30 + 10);
});

test('a recurrent layer reads and writes its state for a token, or once for a prompt, and keeps no positions', () => {
  // Of 25 values: a convolution over 3 tokens keeps 2 × 25 inputs, 200 bytes, and has 2 × 3 × 25 FLOPs.
  const kind: LayerKind = { mixer: { kind: 'short-convolution', width: 3 }, resultNorms: false };
  const kinds = [kind, kind, kind, kind];
  const model = { ...TOY_MODEL, kinds, layersByKind: countKinds({ kinds }) };
  for (const context of [1, 10]) {
    const workload = createWorkload({ context, promptTokens: 10 });
    assert.is(reservedKvBytes(model, workload), 200);
    const { compute, memory, kvCopy } = layerSeconds(model, workload, TOY_CPU);
    assert.equal([compute, memory, kvCopy], [3 + 150 / 1000, (4000 + 400) / 1000, 0.5]);
    const prompt = prefillLayerSeconds(model, workload, TOY_CPU);
    assert.equal([prompt.compute, prompt.memory, prompt.kvCopy], [30 + 1500 / 1000, (4000 + 400) / 1000, 0.5]);
  }
});

test.run();
