import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { encodeHeader, tensorBytes } from '../../../engine/gguf/encode-header.ts';
import type { Gguf } from '../../../engine/gguf/gguf.ts';
import { madeModel } from '../../../engine/gguf/make/made-model.ts';
import { tensorsFromGguf } from '../../../engine/gguf/model-from-gguf.ts';
import { readGguf } from '../../../engine/gguf/read-gguf.ts';
import { transformerSettings } from '../../../engine/gguf/transformer-settings.ts';
import type { Shape } from '../../../engine/model/architecture.ts';
import { goldenArchitecturePath, hasGoldenArchitecture } from '../../support/golden-architectures.ts';

/** Every family but phi3, whose files have fused matrices. */
const NAMES = [
  ...['deepseek2-lite', 'deepseek2-mla', 'ernie4_5-moe', 'gemma3', 'gemma4', 'gemma4-moe', 'glm4moe', 'gpt-oss'],
  ...['granite', 'granite-hybrid', 'granitemoe', 'hunyuan-moe', 'lfm2', 'lfm2moe', 'llama-moe', 'minimax-m2'],
  ...['mistral3', 'nemotron-h-moe', 'olmoe', 'qwen2moe', 'qwen35', 'qwen35moe', 'qwen3moe', 'qwen3next', 'smollm3'],
].map((name) => `${name}-F16`);

function parsed(bytes: Uint8Array, size: number): Gguf {
  const read = (offset: number, length: number): Uint8Array => {
    const out = new Uint8Array(length);
    out.set(bytes.subarray(offset, offset + length));
    return out;
  };
  return readGguf({ name: 'm.gguf', size, read });
}

function made(shape: Shape): Gguf {
  const { metadata, tensors } = madeModel(shape, 'F16');
  const bytes = encodeHeader(metadata, tensors);
  const data = tensors.reduce((sum, tensor) => sum + Math.ceil(tensorBytes(tensor) / 32) * 32, 0);
  return parsed(bytes, bytes.length + data);
}

for (const name of NAMES.filter(hasGoldenArchitecture)) {
  test(`what is made of the shape of ${name} has that shape`, () => {
    const bytes = readFileSync(goldenArchitecturePath(name));
    const golden = parsed(bytes, bytes.length);
    const { shape } = tensorsFromGguf(golden);
    const gguf = made(shape);
    // As converters write them: llama.cpp refuses vectors in place of columns.
    const lengths = new Map(golden.tensors.map((tensor) => [tensor.name, tensor.shape]));
    for (const tensor of gguf.tensors)
      assert.equal(tensor.shape, lengths.get(tensor.name) ?? tensor.shape, `${name}: ${tensor.name}`);
    const found = tensorsFromGguf(gguf).shape;
    assert.equal(found, shape);
    assert.type(transformerSettings(gguf, found).ropeBase, 'number');
  });
}

test.run();
