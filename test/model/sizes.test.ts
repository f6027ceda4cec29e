import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { TINY } from '../../engine/gguf/make/made-model.ts';
import { parseModels } from '../../engine/gguf/parse-models.ts';
import { uniformShape } from '../../engine/model/architecture.ts';
import { appendedBytes, keptBytes } from '../../engine/model/kept-bytes.ts';
import { checkKvFormat, kvBytesPerToken } from '../../engine/model/kv-format.ts';
import type { Mix } from '../../engine/model/mix.ts';
import { createModel, modelTensors, readBytes } from '../../engine/model/model.ts';
import { near } from '../support/near.ts';

const catalogue = parseModels(readFileSync('datasets/models.csv', 'utf8'), 'datasets/models.csv');

function model(name: string, mix: Mix) {
  const found = catalogue.find(({ shape }) => shape.name === name);
  if (found === undefined) throw new Error(`no ${name}`);
  return createModel(found.shape, mix);
}

/** Sizes of published GGUF files and checkpoints, decimal gigabytes. */
const PUBLISHED: readonly [string, Mix, number][] = [
  ['Llama-3-8B', 'Q4_K_M', 4.92],
  ['Llama-3-8B', 'Q8_0', 8.54],
  ['Llama-3-8B', 'F16', 16.07],
  ['Llama-3-8B', 'Q5_K_M', 5.73],
  ['Llama-3-8B', 'Q5_K_S', 5.6],
  ['Llama-3-8B', 'Q3_K_L', 4.32],
  ['Llama-3-8B', 'Q3_K_M', 4.02],
  ['Llama-3-8B', 'Q3_K_S', 3.66],
  ['Llama-3-14B', 'Q4_K_M', 8.58],
  ['Llama-3-70B', 'Q4_K_S', 40.35],
  ['Llama-3-70B', 'Q4_K_M', 42.52],
  ['Llama-2-7B', 'Q4_K_M', 4.08],
  ['Llama-2-7B', 'Q4_K_S', 3.86],
  ['Llama-2-7B', 'Q3_K_M', 3.3],
  ['Qwen2.5-7B', 'Q4_K_M', 4.68],
  ['Qwen2.5-7B', 'Q3_K_M', 3.81],
  ['Qwen2.5-72B', 'Q4_K_M', 47.42],
  ['Qwen3-30B-A3B', 'Q4_K_M', 18.56],
  ['Qwen3-235B-A22B', 'Q4_K_M', 142.65],
  ['gpt-oss-20b', 'MXFP4_MOE', 12.11],
  ['gpt-oss-120b', 'MXFP4_MOE', 63.39],
  ['Mixtral-8x7B', 'Q4_K_M', 28.45],
  ['OLMoE-1B-7B', 'Q4_K_M', 4.21],
  ['Granite-3.1-3B-A800M', 'Q4_K_M', 2.02],
  ['Gemma-3-4B', 'Q4_K_M', 2.49],
  ['Gemma-3-12B', 'Q4_K_M', 7.3],
  ['Gemma-3-27B', 'Q4_K_M', 16.55],
  ['Mistral-Small-24B', 'Q4_K_M', 14.33],
  ['Ministral-3-14B', 'Q4_K_M', 8.24],
  ['Granite-3.3-8B', 'Q4_K_M', 4.94],
];

for (const [name, mix, gigabytes] of PUBLISHED) {
  test(`${name} as ${mix} has ${gigabytes} GB within 0.5 %`, () => {
    const counted = model(name, mix).bytes / 1e9;
    assert.ok(Math.abs(counted / gigabytes - 1) < 0.005, `counted ${counted}`);
  });
}

/**
 * Billions of parameters as published, and of those that a token uses, the embedding's row left out: model cards, or the
 * counts of llama.cpp and Hugging Face.
 */
const PARAMETERS: readonly [string, number, number?][] = [
  ['DeepSeek-V2-Lite', 15.7, 2.4],
  ['DeepSeek-V3', 671, 37],
  ['Kimi-K2', 1026, 32],
  ['GLM-4.7-Flash', 29.94, 3.6],
  ['Qwen3-Next-80B-A3B', 79.67, 3.6],
  ['Qwen3.5-4B', 4.21],
  ['Qwen3.5-9B', 8.95],
  ['Qwen3.5-27B', 26.9],
  ['Qwen3.5-35B-A3B', 34.66, 3],
  ['Qwen3.5-122B-A10B', 122, 9.5],
  ['Granite-4.0-H-Micro', 3.19],
  ['Granite-4.0-H-Tiny', 6.94, 1.3],
  ['Granite-4.0-H-Small', 32.2, 9],
  ['Nemotron-3-Nano-30B-A3B', 31.6, 3.2],
  ['LFM2-1.2B', 1.17],
  ['LFM2-8B-A1B', 8.34, 1.5],
];

for (const [name, billions, active] of PARAMETERS)
  test(`${name} has ${billions} billion parameters within 1 %`, () => {
    const { tensors, embedding, kinds, tiedEmbeddings } = model(name, 'F16');
    const usedShare = (layer = 0): number => {
      const feedForward = kinds[layer]?.feedForward;
      return feedForward?.kind === 'experts' ? feedForward.router.used / feedForward.router.experts : 1;
    };
    const [all, used] = tensors.reduce(
      ([all, used], { rows, columns, experts, layer }) => [
        all + rows * columns,
        used + rows * columns * (experts === undefined ? 1 : usedShare(layer)),
      ],
      [0, tiedEmbeddings ? 0 : -embedding.bytes / 2],
    ) as [number, number];
    assert.ok(Math.abs(all / 1e9 / billions - 1) < 0.01, `counted ${all / 1e9}`);
    // What is published of a token is rounded, and who counts embeddings differs.
    if (active !== undefined) assert.ok(Math.abs(used / 1e9 / active - 1) < 0.15, `a token uses ${used / 1e9}`);
  });

/** Bytes per token in F16, and bytes of states. */
const KEPT: readonly [string, number, number][] = [
  // 61 layers of 512 + 64 values.
  ['DeepSeek-V3', 61 * 576 * 2, 0],
  ['DeepSeek-V2-Lite', 27 * 576 * 2, 0],
  // 12 layers of 2 × 2 heads of 256; 36 states of 32 × 128² values with 3 inputs of (16 + 16 + 32) × 128.
  ['Qwen3-Next-80B-A3B', 12 * 2 * 2 * 256 * 2, 36 * 4 * (32 * 128 ** 2 + 3 * 64 * 128)],
  // 4 layers of 2 × 4 heads of 128; 36 states of 3072 × 128 values with 3 inputs of 3072 + 2 × 128.
  ['Granite-4.0-H-Tiny', 4 * 2 * 4 * 128 * 2, 36 * 4 * (3072 * 128 + 3 * (3072 + 256))],
  ['Nemotron-3-Nano-30B-A3B', 6 * 2 * 2 * 128 * 2, 23 * 4 * (4096 * 128 + 3 * (4096 + 2048))],
  ['LFM2-1.2B', 6 * 2 * 8 * 64 * 2, 10 * 4 * 2 * 2048],
];

for (const [name, tokenBytes, states] of KEPT)
  test(`${name} keeps ${tokenBytes} bytes of a token, and ${states} of a text`, () => {
    const found = model(name, 'Q4_K_M');
    near(found.layers * appendedBytes(found), tokenBytes);
    near(found.layers * keptBytes(found, 0), states);
  });

test('Qwen2.5-72B falls back to another format for rows that are not a multiple of 256', () => {
  const down = modelTensors(model('Qwen2.5-72B', 'Q4_K_M'), 'Q4_K_M').filter(({ role }) => role === 'ffn_down');
  assert.equal([...new Set(down.map(({ quantization }) => quantization))].sort(), ['Q5_0', 'Q8_0']);
});

test('Q4_K_M of 32 layers has a finer ffn_down in the first and last four layers and every third between', () => {
  const finer = modelTensors(model('Llama-3-8B', 'Q4_K_M'), 'Q4_K_M')
    .filter(({ role, quantization }) => role === 'ffn_down' && quantization === 'Q6_K')
    .map(({ layer }) => layer);
  assert.equal(finer, [0, 1, 2, 3, 6, 9, 12, 15, 18, 21, 24, 27, 28, 29, 30, 31]);
});

test('embedding, layers and output add up to the model', () => {
  const { layer, layers, embedding, output, bytes } = model('Llama-3-8B', 'Q4_K_M');
  assert.ok(Math.abs(layer.bytes * layers + embedding.bytes + output.bytes - bytes) < 1);
});

test('a tied output matrix is stored once and counted as output', () => {
  const tied = model('Llama-3.2-3B', 'F16');
  // 128256 × 3072 values of 2 bytes, and an output norm of 3072 values of 4 bytes
  assert.is(tied.embedding.bytes, 788_004_864);
  assert.is(tied.output.bytes, 788_004_864 + 12_288);
});

test('a layer has two FLOPs per matrix element, by format', () => {
  const { layer } = model('Llama-2-7B', 'F16');
  // 4 × 4096² + 3 × 4096 × 11008 = 202,375,168 elements
  assert.is(layer.flops.get('F16'), 2 * 202_375_168);
});

test('a token reads 8 of 128 experts, and many tokens nearly all', () => {
  const { layer } = model('Qwen3-30B-A3B', 'F16');
  const [routed] = layer.routed;
  // 128 experts of three matrices of 768 × 2048 values
  const { flops, ...rest } = routed ?? {};
  assert.equal([layer.routed.length, rest], [1, { experts: 128, used: 8, bytes: 128 * 3 * 768 * 2048 * 2 }]);
  assert.is(flops?.get('F16'), 2 * 8 * 3 * 768 * 2048);
  assert.is(readBytes(layer, 1), layer.bytes - (120 / 128) * (routed?.bytes ?? 0));
  assert.ok(readBytes(layer, 512) > 0.999999 * layer.bytes);
  // Attention, router and eight experts: two FLOPs per element
  const attention = 2 * 2048 * (32 + 4) * 128;
  assert.is(layer.flops.get('F16'), 2 * (attention + 8 * 3 * 768 * 2048));
});

test('the KV cache of Qwen3-8B has 4096 bytes per token and layer (HELM Eq. 4.5 with the erratum)', () => {
  assert.is(kvBytesPerToken(model('Qwen3-8B', 'BF16').mean), 4096);
  assert.is(kvBytesPerToken(model('Qwen3-8B', 'BF16').mean, 'F32'), 8192);
  // Blocks of 32 values in 34 and 18 bytes.
  assert.is(kvBytesPerToken(model('Qwen3-8B', 'BF16').mean, 'Q8_0'), (2048 / 32) * 34);
  assert.is(kvBytesPerToken(model('Qwen3-8B', 'BF16').mean, 'Q4_0'), (2048 / 32) * 18);
});

const headsOf = (headSize: number) => uniformShape({ ...TINY, name: 'M', headSize });

test('a quantized cache needs heads of whole blocks', () => {
  checkKvFormat(headsOf(96), 'Q4_0');
  checkKvFormat(headsOf(80), 'F16');
  assert.throws(
    () => checkKvFormat(headsOf(80), 'Q8_0'),
    /^--kv: Q8_0 needs heads of whole blocks of 32 values; those of M have 80: use F16 or F32$/,
  );
});

test.run();
