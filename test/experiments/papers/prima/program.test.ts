import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createNamedModel, loadCatalogue } from '../../../../datasets/load.ts';
import { DEFAULT_RUNTIME } from '../../../../engine/cost/runtime.ts';
import {
  LLAMA_CPP,
  OTHER_PROGRAM,
  PRIMA_CPP,
  runtimeOf,
  workloadOf,
} from '../../../../experiments/papers/prima/program.ts';

const MIB = 2 ** 20;
const OPTIONS = { table: ['4'], prompt: 6, tokens: 3 };
const model = createNamedModel(loadCatalogue(), 'Llama-3-8B');

test('each program has its own room, and a full cache', () => {
  const roomOf = (program: typeof PRIMA_CPP, given = {}) => {
    const { context, reservedContext } = workloadOf(program, { ...OPTIONS, ...given });
    return [context, reservedContext];
  };
  assert.equal(roomOf(LLAMA_CPP), [1024, 1024]);
  assert.equal(roomOf(PRIMA_CPP), [256, 256]);
  assert.equal(roomOf(PRIMA_CPP, { context: 134 }), [134, 256]);
  assert.equal(roomOf(PRIMA_CPP, { context: 500 }), [500, 500]);
  assert.equal(roomOf(PRIMA_CPP, { reserved: 2048 }), [2048, 2048]);
});

test('buffers in VRAM follow from the shape; the released prima.cpp keeps 700 MiB back as well', () => {
  const vram = (program: typeof PRIMA_CPP, released: boolean): number =>
    runtimeOf(program, released, model, workloadOf(program, OPTIONS)).gpuBufferBytes / MIB;
  assert.is(vram(PRIMA_CPP, false), 258.5);
  assert.is(vram(PRIMA_CPP, true), 958.5);
  assert.is(vram(LLAMA_CPP, true), 258.5);
  assert.equal(runtimeOf(OTHER_PROGRAM, true, model, workloadOf(OTHER_PROGRAM, OPTIONS)), DEFAULT_RUNTIME);
});

test.run();
