import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadCatalogue } from '../../datasets/load.ts';
import { computeBufferBytes } from '../../engine/cost/runtime.ts';
import type { Shape } from '../../engine/model/architecture.ts';

const MIB = 2 ** 20;

function shape(name: string): Shape {
  const found = loadCatalogue().find((model) => model.shape.name === name);
  if (found === undefined) throw new Error(`${name} is not in the catalogue`);
  return found.shape;
}

test('for Llama 3 8B logits decide: 258.5 MiB at 512 and 2048 tokens, as llama.cpp logs', () => {
  assert.is(computeBufferBytes(shape('Llama-3-8B'), 512) / MIB, 258.5);
  assert.is(computeBufferBytes(shape('Llama-3-8B'), 2048) / MIB, 258.5);
});

test('for Mistral 7B attention scores decide: 164 MiB at 2048 and 2144 MiB at 32768 tokens, as llama.cpp logs', () => {
  const mistral = { ...shape('Llama-3-8B'), vocabularySize: 32000 };
  assert.is(computeBufferBytes(mistral, 2048) / MIB, 164);
  assert.is(computeBufferBytes(mistral, 32768) / MIB, 2144);
});

test('for Llama 65B at few tokens gate and up decide', () => {
  assert.is(computeBufferBytes(shape('Llama-1-65B'), 256) / MIB, 118);
});

test('more tokens never need less memory', () => {
  const names = loadCatalogue().map((model) => model.shape.name);
  fc.assert(
    fc.property(fc.constantFrom(...names), fc.nat(100_000), fc.nat(100_000), (name, tokens, more) => {
      const one = shape(name);
      return computeBufferBytes(one, tokens + more) >= computeBufferBytes(one, tokens);
    }),
  );
});

test.run();
