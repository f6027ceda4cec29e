import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createNamedModel, loadCatalogue, loadPublished } from '../../../../datasets/load.ts';
import { DEFAULT_RUNTIME } from '../../../../engine/cost/runtime.ts';
import {
  LLAMA_CPP,
  OTHER_PROGRAM,
  PRIMA_CPP,
  runtimeOf,
  versionOf,
  workloadOf,
} from '../../../../experiments/papers/prima/program.ts';

const MIB = 2 ** 20;
const OPTIONS = { table: ['4'], prompt: 6, warm: 'run', tokens: 3 } as const;
const model = createNamedModel(loadCatalogue(), 'Llama-3-8B');

test('each program has its own KV capacity, and a full cache', () => {
  const roomOf = (program: typeof PRIMA_CPP, given = {}) => {
    const { context, reservedContext } = workloadOf(program, { ...OPTIONS, ...given });
    return [context, reservedContext];
  };
  assert.equal(roomOf(LLAMA_CPP), [1024, 1024]);
  assert.equal(roomOf(PRIMA_CPP), [1024, 1024]);
  assert.equal(roomOf(PRIMA_CPP, { context: 134 }), [134, 1024]);
  assert.equal(roomOf(PRIMA_CPP, { context: 500 }), [500, 1024]);
  assert.equal(roomOf(PRIMA_CPP, { reserved: 2048 }), [2048, 2048]);
});

test('prima.cpp reckons buffers with activations, the head’s with logits, and keeps 0.3 GiB or 700 MiB of VRAM back', () => {
  const vram = (program: typeof PRIMA_CPP, version: 'april-2025' | 'july-2025'): number =>
    runtimeOf(program, version, model, workloadOf(program, OPTIONS)).gpuBufferBytes / MIB;
  // 512 tokens of 4 · 4096 + 33 · 1024 + 2 values of 4 bytes; the head's 2 · 4096 + 128256 + 1 in addition.
  const activations = (2048 * (4 * 4096 + 33 * 1024 + 2)) / MIB;
  assert.is(vram(PRIMA_CPP, 'april-2025'), activations + 0.3 * 1024);
  assert.is(vram(PRIMA_CPP, 'july-2025'), activations + 700);
  const { cpuBufferBytes, headBufferBytes } = runtimeOf(PRIMA_CPP, 'april-2025', model, workloadOf(PRIMA_CPP, OPTIONS));
  assert.is(cpuBufferBytes / MIB, activations);
  assert.is(headBufferBytes, 2048 * (2 * 4096 + 128256 + 1));
  assert.is(vram(LLAMA_CPP, 'july-2025'), 258.5);
  assert.equal(runtimeOf(OTHER_PROGRAM, 'july-2025', model, workloadOf(OTHER_PROGRAM, OPTIONS)), DEFAULT_RUNTIME);
});

test('a cell that the first version of the paper prints alike was measured with the program of April 2025', () => {
  const published = loadPublished();
  const versions = published
    .filter(
      ({ paper, table, system, metric }) =>
        paper === 'prima-cpp' && table === 'Table 4' && system === 'prima.cpp' && metric === 'tpot',
    )
    .map((cell) => [cell.row, versionOf(cell, published)]);
  assert.equal(versions, [
    ['8B', 'july-2025'],
    ['14B', 'july-2025'],
    ['30B', 'april-2025'],
    ['45B', 'april-2025'],
    ['60B', 'april-2025'],
    ['65B', 'april-2025'],
    ['70B', 'april-2025'],
  ]);
});

test.run();
