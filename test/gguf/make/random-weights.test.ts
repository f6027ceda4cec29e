import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { TINY, TINY_SHAPE } from '../../../engine/gguf/make/made-model.ts';
import { randomWeights } from '../../../engine/gguf/make/random-weights.ts';
import { type NamedTensor, namedTensors } from '../../../engine/gguf/tensor-names.ts';
import { type Shape, uniformShape } from '../../../engine/model/architecture.ts';

function moments(shape: Shape, name: string): { mean: number; deviation: number } {
  const tensor = namedTensors(shape).find((candidate) => candidate.name === name) as NamedTensor;
  const values = randomWeights(shape, 1)({ tensor, from: 0, count: tensor.rows * tensor.columns });
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
  return { mean, deviation: Math.sqrt(variance) };
}

const within = (found: number, expected: number, share: number): void =>
  assert.ok(Math.abs(found - expected) <= share, `${found}, not ${expected}`);

test('matrices have deviation 1 / √columns, divided by √(2 layers) if they write to the residual stream', () => {
  const gate = moments(TINY_SHAPE, 'blk.0.ffn_gate.weight');
  within(gate.mean, 0, 0.001);
  within(gate.deviation, 1 / 16, 0.001);
  within(moments(TINY_SHAPE, 'blk.1.attn_output.weight').deviation, 1 / 16 / 2, 0.001);
  within(moments(TINY_SHAPE, 'blk.1.ffn_down.weight').deviation, 1 / Math.sqrt(512) / 2, 0.001);
});

test('embeddings have deviation 1, or 1 / √hidden if tied', () => {
  within(moments(TINY_SHAPE, 'token_embd.weight').deviation, 1, 0.02);
  within(moments({ ...TINY_SHAPE, tiedEmbeddings: true }, 'token_embd.weight').deviation, 1 / 16, 0.002);
});

test('norms are about 1 and biases about 0', () => {
  const wide = uniformShape({ ...TINY, hiddenSize: 8192, qkvBias: true });
  within(moments(wide, 'output_norm.weight').mean, 1, 0.005);
  within(moments(wide, 'output_norm.weight').deviation, 0.1, 0.005);
  within(moments(wide, 'blk.0.attn_q.bias').mean, 0, 0.03);
});

test('a piece depends only on its position and the seed', () => {
  const tensor = namedTensors(TINY_SHAPE)[0] as NamedTensor;
  const weights = randomWeights(TINY_SHAPE, 1);
  const first = weights({ tensor, from: 256, count: 4 });
  weights({ tensor, from: 0, count: 100 });
  assert.equal(weights({ tensor, from: 256, count: 4 }), first);
  assert.not.equal(weights({ tensor, from: 512, count: 4 }), first);
  assert.not.equal(randomWeights(TINY_SHAPE, 2)({ tensor, from: 256, count: 4 }), first);
});

test.run();
