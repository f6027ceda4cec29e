import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { outlineGguf } from '../../engine/gguf/describe-gguf.ts';
import { encodeHeader, type TensorHeading, tensorBytes } from '../../engine/gguf/encode-header.ts';
import { withFile } from '../../engine/gguf/file-source.ts';
import type { Gguf } from '../../engine/gguf/gguf.ts';
import { madeModel, TINY, TINY_SHAPE } from '../../engine/gguf/make/made-model.ts';
import type { Metadata, MetadataValue } from '../../engine/gguf/metadata-value.ts';
import { modelFromGguf } from '../../engine/gguf/model-from-gguf.ts';
import { parseModels } from '../../engine/gguf/parse-models.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import { transformerSettings } from '../../engine/gguf/transformer-settings.ts';
import { type Shape, uniformShape } from '../../engine/model/architecture.ts';
import type { Attention } from '../../engine/model/layer-kind.ts';
import type { FileMix } from '../../engine/model/mix.ts';
import { createModel } from '../../engine/model/model.ts';
import { goldenArchitecturePath } from '../support/golden-architectures.ts';
import { type GoldenModel, goldenBytes } from '../support/golden-models.ts';

const catalogue = parseModels(readFileSync('datasets/models.csv', 'utf8'), 'datasets/models.csv');

/** The header of a file; its weights, up to 140 GB, are never read. */
function header(metadata: Metadata, tensors: readonly TensorHeading[]): Gguf {
  const bytes = encodeHeader(metadata, tensors);
  const data = tensors.reduce((sum, tensor) => sum + Math.ceil(tensorBytes(tensor) / 32) * 32, 0);
  return readHeader(bytes, bytes.length + data);
}

function readHeader(bytes: Uint8Array, size: number): Gguf {
  const read = (offset: number, length: number): Uint8Array => {
    const out = new Uint8Array(length);
    out.set(bytes.subarray(offset, offset + length));
    return out;
  };
  return readGguf({ name: 'm.gguf', size, read });
}

function made(shape: Shape, mix: FileMix): Gguf {
  const { metadata, tensors } = madeModel(shape, mix);
  return header(metadata, tensors);
}

// Published files of phi3 have fused matrices, and no others are made.
for (const { shape, defaultMix } of catalogue.filter((row) => row.shape.architecture !== 'phi3')) {
  const mix = defaultMix === 'BF16' ? 'Q8_0' : defaultMix;
  test(`a file made for ${shape.name} as ${mix} gives the catalogue's model`, () => {
    const { tensors, ...found } = modelFromGguf(made(shape, mix));
    const { tensors: counted, ...expected } = createModel(shape, mix);
    assert.equal(found, expected);
    assert.ok(tensors.length >= counted.length);
  });
}

/** The attention of a model whose first layer has one. */
function attentionOf({ kinds }: Pick<Shape, 'kinds'>): Attention | undefined {
  const mixer = kinds[0]?.mixer;
  return mixer?.kind === 'attention' ? mixer : undefined;
}

test('a BF16 file differs from the catalogue only in its F32 vectors', () => {
  const shape = catalogue.find(({ shape }) => shape.name === 'Qwen3-8B')?.shape ?? TINY_SHAPE;
  const [found, expected] = [modelFromGguf(made(shape, 'BF16')), createModel(shape, 'BF16')];
  // 36 layers with two norms of 4096 and two head norms of 128 values, and the output norm: two more bytes each.
  assert.is(found.bytes - expected.bytes, 2 * (36 * (2 * 4096 + 2 * 128) + 4096));
  assert.equal(found.layer.flops, expected.layer.flops);
});

test('a file may have one format for every matrix', () => {
  const model = modelFromGguf(made(TINY_SHAPE, 'Q3_K'));
  // Per layer 2 · 256² + 2 · 64 · 256 + 3 · 256 · 512 = 557,056 elements
  assert.equal([...model.layer.flops], [['Q3_K', 2 * 557_056]]);
  assert.is(model.layer.bytes, (557_056 / 256) * 110 + 2 * 256 * 4);
  assert.is(model.mix, 'Q3_K');
});

test('a row that is not a multiple of 256 falls back to another format, as in llama.cpp', () => {
  const { layer } = modelFromGguf(made(uniformShape({ ...TINY, ffnSize: 544 }), 'Q2_K'));
  assert.equal([...layer.flops.keys()].sort(), ['IQ4_NL', 'Q2_K']);
});

function golden(name: GoldenModel): Gguf {
  const bytes = goldenBytes(name);
  return readHeader(bytes, bytes.length);
}

test("llama.cpp's Llama is read with tied embeddings, divisors of angles and Q4_0 matrices", () => {
  const gguf = golden('llama-Q4_0');
  const model = modelFromGguf(gguf);
  assert.is(model.name, 'random-llama-Q4_0');
  assert.is(model.mix, 'Q4_0');
  const { heads, kvHeads, headSize, bias } = attentionOf(model) ?? {};
  assert.equal([model.layers, model.hiddenSize, heads, kvHeads, headSize], [2, 256, 8, 2, 32]);
  assert.equal([model.vocabularySize, model.tiedEmbeddings, bias], [1024, true, false]);
  // 557,056 elements of a layer's matrices, 18 bytes for 32, and two norms; the divisors are 16 values.
  assert.is(model.layer.bytes, 313_344 + 2048);
  assert.is(model.embedding.bytes, 147_456);
  assert.is(model.bytes, 2 * 315_392 + 147_456 + 1024 + 64);
  assert.is(transformerSettings(gguf, model).ropeBase, 500_000);
  assert.is(gguf.dataOffset, 25_312);
});

test("llama.cpp's Qwen2 is read with biases and the Q4_K_M of its quantizer, as in mix.ts", () => {
  const gguf = golden('qwen2-Q4_K_M');
  const { name, ...model } = modelFromGguf(gguf);
  assert.is(name, 'random-qwen2-Q4_K_M');
  assert.is(attentionOf(model)?.bias, true);
  const { layers, vocabularySize, mean } = model;
  const shape = uniformShape({ ...TINY, name, architecture: 'qwen2', layers, vocabularySize, ...mean, qkvBias: true });
  assert.is(model.bytes, createModel(shape, 'Q4_K_M').bytes);
  assert.equal(model.layer, createModel(shape, 'Q4_K_M').layer);
});

const { metadata, tensors } = madeModel({ ...TINY_SHAPE, vocabularySize: 258 }, 'F16');
const set = (key: string, value: MetadataValue): Metadata => new Map([...metadata, [key, value]]);
const without = (key: string): Metadata => new Map([...metadata].filter(([name]) => name !== key));
const f16 = (name: string, shape: readonly number[]): TensorHeading => ({ name, shape, type: 'F16' });

test('fused Q, K and V count like the three matrices', () => {
  const separate = /attn_[qkv]\.weight$/;
  const fused = [0, 1].map((layer) => f16(`blk.${layer}.attn_qkv.weight`, [256, 256 + 64 + 64]));
  const model = modelFromGguf(header(metadata, [...tensors.filter(({ name }) => !separate.test(name)), ...fused]));
  const plain = modelFromGguf(header(metadata, tensors));
  assert.is(model.layer.bytes, plain.layer.bytes);
  assert.equal(model.layer.flops, plain.layer.flops);
});

test("Llama 3.1's divisors of rotary angles are counted once, outside the layers", () => {
  const plain = modelFromGguf(header(metadata, tensors));
  const model = modelFromGguf(header(metadata, [...tensors, { name: 'rope_freqs.weight', shape: [16], type: 'F32' }]));
  assert.is(model.bytes, plain.bytes + 64);
  assert.is(model.layer.bytes, plain.layer.bytes);
});

test('missing settings have the defaults of llama.cpp', () => {
  const bare = header(new Map([...metadata].filter(([key]) => !key.includes('.rope.'))), tensors);
  const settings = transformerSettings(bare, TINY_SHAPE);
  assert.is(settings.ropeBase, 10_000);
  assert.is(settings.ropeDimensions, 32);
  assert.is(settings.ropeScaling, 'none');
  assert.is(settings.contextLength, 4096);
  assert.is(Math.fround(1e-5), settings.normEpsilon);
});

/** A model of two kinds of layers. */
const unlike = withFile(goldenArchitecturePath('lfm2-F16'), readGguf);

const MISTAKES: readonly [string, Metadata, readonly TensorHeading[], string][] = [
  [
    'another architecture',
    set('general.architecture', { type: 'string', value: 'gemma\n2' }),
    tensors,
    'm.gguf: metadata general.architecture: "gemma\\n2" is not supported; supported: llama, qwen2, qwen2moe, qwen3, qwen3moe, internlm2',
  ],
  [
    'no number of layers',
    without('llama.block_count'),
    tensors,
    'm.gguf: metadata llama.block_count: is missing; a whole number from 1 to 1000 is needed',
  ],
  [
    'a number of heads as text',
    set('llama.attention.head_count', { type: 'string', value: '8' }),
    tensors,
    'm.gguf: metadata llama.attention.head_count: is string "8"; a whole number from 1 to 1000000 is needed',
  ],
  [
    'key and value heads that differ by layer',
    set('llama.attention.head_count_kv', { type: 'array', value: { of: 'int32', values: [2, 4] } }),
    tensors,
    'm.gguf: metadata llama.attention.head_count_kv: is array of 2 int32; a whole number from 1 to 8 is needed',
  ],
  [
    'heads that do not divide',
    set('llama.attention.head_count_kv', { type: 'uint32', value: 3 }),
    tensors,
    'm.gguf: metadata llama.attention.head_count_kv: 3 does not divide the 8 query heads',
  ],
  [
    'a mixture of experts that does not say how many a token uses',
    set('llama.expert_count', { type: 'uint32', value: 8 }),
    tensors,
    'm.gguf: metadata llama.expert_used_count: is missing; a whole number from 1 to 8 is needed',
  ],
  [
    'a missing tensor',
    metadata,
    tensors.filter(({ name }) => name !== 'blk.1.ffn_up.weight'),
    'm.gguf: tensor blk.1.ffn_up.weight is missing; llama of 2 layers has it',
  ],
  [
    'no embedding',
    metadata,
    tensors.filter(({ name }) => name !== 'token_embd.weight'),
    'm.gguf: the tensor token_embd.weight, a matrix of one row per token, is missing',
  ],
  [
    'an unknown tensor',
    metadata,
    [...tensors, f16('blk.0.ffn_gate_inp.weight', [256, 8])],
    'm.gguf: tensor "blk.0.ffn_gate_inp.weight": llama of 2 layers has no such tensor; it has token_embd.weight, blk.N.attn_norm.weight',
  ],
  [
    'other dimensions',
    metadata,
    tensors.map((tensor) => (tensor.name === 'blk.0.attn_k.weight' ? f16(tensor.name, [256, 96]) : tensor)),
    'm.gguf: tensor "blk.0.attn_k.weight": is 256 × 96; the metadata require 256 × 64',
  ],
  [
    'a matrix of one column in place of its rows',
    metadata,
    tensors.map((tensor) => (tensor.name === 'blk.0.attn_k.weight' ? f16(tensor.name, [1, 256, 64]) : tensor)),
    'm.gguf: tensor "blk.0.attn_k.weight": is 1 × 256 × 64; the metadata require 256 × 64',
  ],
  [
    'unlike layers without their key and value heads',
    new Map([...unlike.metadata].filter(([key]) => key !== 'lfm2.attention.head_count_kv')),
    unlike.tensors,
    'm.gguf: tensor "blk.0.shortconv.in_proj.weight": lfm2 of 5 layers has no such tensor; it has token_embd.weight',
  ],
  [
    'unlike layers without the width of dense networks',
    new Map([...unlike.metadata].filter(([key]) => key !== 'lfm2.feed_forward_length')),
    unlike.tensors,
    'm.gguf: metadata lfm2.feed_forward_length: is missing; a whole number from 1 to 1000000 is needed',
  ],
];

for (const [what, given, list, expected] of MISTAKES) {
  test(`${what} is an error of one line`, () => {
    const found = (() => {
      try {
        modelFromGguf(header(given, list));
      } catch (error) {
        return (error as Error).message;
      }
      return 'nothing was thrown';
    })();
    assert.ok(found.startsWith(expected), found);
    assert.not.match(found, '\n');
  });
}

test('0 experts, a list of equal numbers and shapes that end in 1 are those of a dense model', () => {
  const { metadata, tensors } = madeModel(TINY_SHAPE, 'F16');
  const more: [string, MetadataValue][] = [
    [`${TINY_SHAPE.architecture}.expert_count`, { type: 'uint32', value: 0 }],
    [
      `${TINY_SHAPE.architecture}.attention.head_count_kv`,
      { type: 'array', value: { of: 'uint32', values: Array<number>(TINY_SHAPE.layers).fill(TINY.kvHeads) } },
    ],
  ];
  const headings = tensors.map((tensor) => ({
    ...tensor,
    shape: tensor.shape.length === 1 ? [...tensor.shape, 1] : tensor.shape,
  }));
  const { tensors: found, ...model } = modelFromGguf(header(new Map([...metadata, ...more]), headings));
  const { tensors: _, ...expected } = modelFromGguf(made(TINY_SHAPE, 'F16'));
  assert.equal(model, expected);
  assert.is(found.length, tensors.length);
});

test('of a file that the engine can not run, what can be told is told', () => {
  const { metadata, tensors } = madeModel(TINY_SHAPE, 'F16');
  const other = new Map<string, MetadataValue>([
    ...metadata,
    ['general.architecture', { type: 'string', value: 'mixtral' }],
    ['mixtral.expert_count', { type: 'uint32', value: 8 }],
    ['mixtral.expert_used_count', { type: 'uint32', value: 2 }],
    ['mixtral.context_length', { type: 'uint32', value: 4096 }],
  ]);
  const outline = outlineGguf(header(other, tensors), 'why');
  assert.equal(
    [
      outline.architecture,
      outline.experts,
      outline.expertsUsed,
      outline.context,
      outline.layers,
      outline.engine.problem,
    ],
    ['mixtral', 8, 2, 4096, undefined, 'why'],
  );
  assert.is(
    outline.parameters,
    tensors.reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0),
  );
});

test.run();
