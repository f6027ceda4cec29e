import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { attentionFlops, kvCacheBytes } from '../../engine/cost/layer-seconds.ts';
import {
  activationBytes,
  blockBytes,
  blockSeconds,
  checkEfficiencies,
  headSeconds,
  kvBandwidth,
  projectionFlops,
  ROOFLINE_RUNTIME,
} from '../../engine/cost/roofline.ts';
import type { FlopRates } from '../../engine/hardware/device.ts';
import { InputError } from '../../engine/input/input-error.ts';
import { type UniformShape, uniformShape } from '../../engine/model/architecture.ts';
import { createModel } from '../../engine/model/model.ts';
import { QUANTIZATION_NAMES } from '../../engine/model/quantization.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import { relativelyNear } from '../support/near.ts';
import { QWEN3, QWEN3_8B } from '../support/one-machine.ts';

const qwen8 = createModel(QWEN3_8B, 'BF16');
test('Eqs. 4.1–4.3: a block of Qwen3-8B has 83.9 MB of attention and 302.0 MB of feed-forward, 386 MB in total', () => {
  const { attention, feedForward, norms } = blockBytes(qwen8);
  assert.is(attention, (4096 * 4096 + 2 * 4096 * 1024 + 4096 * 4096) * 2);
  assert.is(attention, 83_886_080);
  assert.is(feedForward, 301_989_888);
  // Two norms of 4096, which the thesis counts, and the head norms of queries and keys, which it omits.
  assert.is(norms, 2 * 4096 * 2 + 2 * 128 * 2);
  assert.is(attention + feedForward + norms, 385_892_864);
  assert.is(qwen8.layer.bytes, 385_892_864);
});

test('Eq. 4.4: 8 KiB cross the boundary for one request, 32 KiB for four; 4-byte values double it', () => {
  assert.is(activationBytes(qwen8, createWorkload(), ROOFLINE_RUNTIME), 8192);
  assert.is(activationBytes(qwen8, createWorkload({ batch: 4 }), ROOFLINE_RUNTIME), 32_768);
  assert.is(activationBytes(qwen8, createWorkload(), { ...ROOFLINE_RUNTIME, activationBytes: 4 }), 16_384);
});

test('Eq. 4.5: the KV cache of a block takes 4096 bytes per token: 16 MiB at 4096 tokens, not 16 KB', () => {
  assert.is(kvCacheBytes(qwen8, createWorkload({ context: 1 })), 4096);
  assert.is(kvCacheBytes(qwen8, createWorkload({ context: 4096 })), 16 * 2 ** 20);
  assert.is(kvCacheBytes(qwen8, createWorkload({ context: 4096, batch: 3 })), 48 * 2 ** 20);
});

test('Eq. 4.9: exact FLOPs use the width of the heads; the printed equation uses the hidden size', () => {
  const once = createWorkload();
  assert.is(projectionFlops(qwen8, once), 385_875_968);
  assert.is(projectionFlops(qwen8, once, 'hidden'), 385_875_968);
  const qwen4 = createModel(uniformShape({ ...QWEN3, hiddenSize: 2560, ffnSize: 9728 }), 'BF16');
  assert.is(projectionFlops(qwen4, once), 5120 * (2 * 4096 + 2 * 1024 + 3 * 9728));
  assert.is(projectionFlops(qwen4, once, 'hidden'), 5120 * (2 * 2560 + 2 * 1024 + 3 * 9728));
  const qwen32 = createModel(uniformShape({ ...QWEN3, hiddenSize: 5120, ffnSize: 25600, heads: 64 }), 'BF16');
  const errors = [qwen4, qwen32].map((m) => projectionFlops(m, once, 'hidden') / projectionFlops(m, once) - 1);
  assert.equal(
    errors.map((error) => (100 * error).toFixed(1)),
    ['-7.8', '-6.5'],
  );
  assert.is(projectionFlops(qwen8, createWorkload({ batch: 8 })), 8 * 385_875_968);
});

test('Eq. 4.9 agrees with FLOPs counted tensor by tensor', () => {
  relativelyNear(projectionFlops(qwen8, createWorkload()), qwen8.layer.flops.get('BF16') ?? 0);
});

test('Eq. 4.11: attention of a block takes 4 · 2 · 32 · 1000 · 128 FLOPs for two requests at 1000 tokens', () => {
  assert.is(attentionFlops(qwen8, createWorkload({ context: 1000, batch: 2 })), 32_768_000);
});

test('Eq. 4.14: L3 and DRAM share the KV cache, and their bandwidths are weighted by their shares', () => {
  const cpu = { ...rates(1), bandwidth: 45e9, cache: { bytes: 24e6, bandwidth: 135e9 } };
  assert.equal(kvBandwidth(cpu, 0), { share: 1, rate: 135e9 });
  assert.equal(kvBandwidth(cpu, 12e6), { share: 1, rate: 135e9 });
  assert.equal(kvBandwidth(cpu, 24e6), { share: 1, rate: 135e9 });
  assert.equal(kvBandwidth(cpu, 48e6), { share: 0.5, rate: 90e9 });
  assert.equal(kvBandwidth(cpu, 96e6), { share: 0.25, rate: 67.5e9 });
  relativelyNear(kvBandwidth(cpu, 24e12).rate, 45.00009e9);
  assert.equal(kvBandwidth({ ...rates(1), bandwidth: 218e9 }, 1), { share: 0, rate: 218e9 });
});

/** 144 matrix elements (288 bytes, 288 FLOPs) and two norms of 4 (16 bytes); 8 bytes of KV cache per token. */
const TOY: UniformShape = {
  name: 'toy',
  architecture: 'llama',
  layers: 2,
  hiddenSize: 4,
  ffnSize: 8,
  heads: 2,
  kvHeads: 1,
  headSize: 2,
  vocabularySize: 10,
  tiedEmbeddings: false,
  qkvBias: false,
};
const toy = createModel(uniformShape(TOY), 'BF16');

function rates(flops: number) {
  const all = Object.fromEntries(QUANTIZATION_NAMES.map((name) => [name, flops])) as FlopRates;
  return { flops: all, bandwidth: 100, kvCopyLatency: 0 };
}

const block = (options: Parameters<typeof blockSeconds>[1], { flops = 48, batch = 1, context = 10 } = {}) =>
  blockSeconds(
    { model: toy, workload: createWorkload({ batch, context }), processor: rates(flops), blocks: 2 },
    options,
  );

test('Eqs. 4.8–4.13: a memory-bound block takes (304 + 80) B / 100 B/s', () => {
  const { compute, memory } = block({});
  assert.is(compute, 0);
  relativelyNear(memory, 3.84);
});

test('a batch reads the weights once and the KV cache of each request', () => {
  relativelyNear(block({}, { batch: 5 }).memory, 3.04 + 5 * 0.8);
});

test('with measured compute, projection and attention each take the larger of compute and memory', () => {
  // Projection: 288 FLOPs at 48 FLOP/s are 6 s, more than 3.04 s; attention: 160 FLOPs are 3.33 s, more than 0.8 s.
  const slow = block({ decodeCompute: 'measured' });
  relativelyNear(slow.compute, 6 + 160 / 48);
  assert.is(slow.memory, 0);
  // At 120 FLOP/s projection takes 2.4 s and waits for memory, attention 1.33 s still computes.
  const between = block({ decodeCompute: 'measured' }, { flops: 120 });
  relativelyNear(between.compute, 160 / 120);
  relativelyNear(between.memory, 3.04);
  // At 1000 FLOP/s memory binds both.
  const fast = block({ decodeCompute: 'measured' }, { flops: 1000 });
  assert.is(fast.compute, 0);
  relativelyNear(fast.memory, 3.84);
});

test('a batch multiplies the FLOPs, so a large one becomes compute-bound', () => {
  const { compute, memory } = block({ decodeCompute: 'measured' }, { flops: 120, batch: 2 });
  relativelyNear(compute, 576 / 120 + 320 / 120);
  assert.is(memory, 0);
});

test('η_c divides the compute rate and η_m the bandwidth', () => {
  relativelyNear(block({ memoryEfficiency: 0.5 }).memory, 7.68);
  relativelyNear(block({ decodeCompute: 'measured', computeEfficiency: 0.5 }).compute, 12 + 320 / 48);
});

test('Eq. 4.9 as printed underestimates compute if the heads are wider than the hidden size', () => {
  // Heads of width 4: q = 8, d_kv = 4, so 2 · 4 · (16 + 8 + 24) = 384 FLOPs; with H for q 2 · 4 · (8 + 8 + 24) = 320.
  const model = createModel(uniformShape({ ...TOY, headSize: 4 }), 'BF16');
  const task = { model, workload: createWorkload({ context: 0 }), processor: rates(32), blocks: 2 };
  relativelyNear(blockSeconds(task, { decodeCompute: 'measured' }).compute, 12);
  relativelyNear(blockSeconds(task, { decodeCompute: 'measured', queryWidth: 'hidden' }).compute, 10);
});

test('the blocks of a stage share the L3', () => {
  // Two blocks have 160 B of KV cache at 10 tokens; 40 B of L3 at 300 B/s: α = 1/4, M̂ = 75 + 75 = 150 B/s.
  const processor = { ...rates(48), cache: { bytes: 40, bandwidth: 300 } };
  const task = { model: toy, workload: createWorkload({ context: 10 }), processor, blocks: 2 };
  relativelyNear(blockSeconds(task).memory, 3.04 + 80 / 150);
  // Alone, a block's 80 B have α = 1/2, M̂ = 200 B/s.
  relativelyNear(blockSeconds({ ...task, blocks: 1 }).memory, 3.04 + 80 / 200);
});

test('the output reads 88 B of norm and matrix; its 80 FLOPs bind below 90.9 FLOP/s', () => {
  const task = { model: toy, workload: createWorkload(), processor: rates(40) };
  assert.equal(headSeconds(task), { compute: 0, memory: 0.88 });
  assert.equal(headSeconds(task, { decodeCompute: 'measured' }), { compute: 2, memory: 0 });
  assert.equal(headSeconds({ ...task, processor: rates(100) }, { decodeCompute: 'measured' }).compute, 0);
});

test('the output of Qwen3-8B takes 5.71 ms on the RTX 4060', () => {
  const { memory } = headSeconds({
    model: qwen8,
    workload: createWorkload(),
    processor: { ...rates(1), bandwidth: 218e9 },
  });
  assert.is((1000 * memory).toFixed(2), '5.71');
});

test('efficiencies outside (0, 1] are refused by name', () => {
  const refusedAs = (message: string) => (error: unknown) => error instanceof InputError && error.message === message;
  for (const value of [0, -1, 1.01, Number.NaN]) {
    const message = `memoryEfficiency: ${value} is not a share above 0 and at most 1`;
    assert.throws(() => checkEfficiencies({ memoryEfficiency: value }), refusedAs(message));
  }
  const message = 'computeEfficiency: 2 is not a share above 0 and at most 1';
  assert.throws(() => checkEfficiencies({ computeEfficiency: 2 }), refusedAs(message));
  checkEfficiencies({ computeEfficiency: 1, memoryEfficiency: 0.01 });
});

test.run();
