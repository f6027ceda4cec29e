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
  assert.equal(roomOf(PRIMA_CPP), [256, 256]);
  assert.equal(roomOf(PRIMA_CPP, { context: 134 }), [134, 256]);
  assert.equal(roomOf(PRIMA_CPP, { context: 500 }), [500, 500]);
  assert.equal(roomOf(PRIMA_CPP, { reserved: 2048 }), [2048, 2048]);
});

test('buffers in VRAM follow from the shape; prima.cpp of July 2025 keeps 700 MiB back as well', () => {
  const vram = (program: typeof PRIMA_CPP, version: 'april-2025' | 'july-2025'): number =>
    runtimeOf(program, version, model, workloadOf(program, OPTIONS)).gpuBufferBytes / MIB;
  assert.is(vram(PRIMA_CPP, 'april-2025'), 258.5);
  assert.is(vram(PRIMA_CPP, 'july-2025'), 958.5);
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
