import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { parseLlamaBench, readLlamaBench, readLlamaBenches, startLlamaBench } from './llama-bench.ts';

const test = suite('bench: llama-bench as a peer');
const folder = mkdtempSync(join(tmpdir(), 'hearth-llama-bench-'));
test.after(() => rmSync(folder, { recursive: true }));

/** The shape of one test in both programs' output; ik_llama.cpp's has some fifty fields more. */
const TEST = {
  build_commit: '8337e4cd3',
  build_number: 4567,
  cpu_info: 'Some Processor ',
  n_prompt: 512,
  n_gen: 0,
  avg_ns: 2e9,
  samples_ns: [1_500_000_000, 2_500_000_000],
  samples_ts: [341.3, 204.8],
};

test('the seconds of every repetition and the build are read from an array and from a line', () => {
  const expected = { seconds: [1.5, 2.5], description: 'build 4567 (8337e4cd3), Some Processor' };
  assert.equal(parseLlamaBench('bench', JSON.stringify([TEST], null, 2)), expected);
  assert.equal(parseLlamaBench('bench', `${JSON.stringify(TEST)}\n`), expected);
  const onGpu = parseLlamaBench('bench', JSON.stringify({ ...TEST, gpu_info: 'Some GPU' }));
  assert.is(onGpu.description, 'build 4567 (8337e4cd3), Some Processor, Some GPU');
});

test('peers have names of their own, and node-llama-cpp is no program', () => {
  const path = process.execPath;
  assert.equal(readLlamaBenches('--peer', ['node-llama-cpp', `a=${path}`]), [{ name: 'a', path }]);
  for (const twice of [[`a=${path}`, `a=${path}`], [`Hearth=${path}`], ['node-llama-cpp', `node-llama-cpp=${path}`]])
    assert.throws(() => readLlamaBenches('--peer', twice), /is the name of two engines; choose another$/);
});

test('whatever else a program prints is an error that says what', () => {
  const expect = (printed: string, message: RegExp) => assert.throws(() => parseLlamaBench('bench', printed), message);
  expect('', /^bench: printed nothing in place of one test of llama-bench as JSON; give the path of llama-bench$/);
  expect('usage: true', /printed "usage: true"/);
  expect('[]', /printed 0 tests/);
  expect(JSON.stringify([TEST, TEST]), /printed 2 tests/);
  expect(JSON.stringify([{ ...TEST, samples_ns: [] }]), /no valid "samples_ns"/);
  expect(JSON.stringify([{ ...TEST, cpu_info: 3 }]), /no valid "cpu_info"/);
});

test('NAME=PATH needs a program', () => {
  const expect = (text: string, message: RegExp) => assert.throws(() => readLlamaBench('--peer', text), message);
  assert.equal(readLlamaBench('--peer', `ik=${process.execPath}`), { name: 'ik', path: process.execPath });
  expect('ik', /^--peer: "ik" is not like ik=path\/of\/llama-bench, nor node-llama-cpp$/);
  expect('ik=', /is not like/);
  expect(`ik=${folder}/none`, /none doesn’t exist; give the path of llama-bench$/);
  expect(`ik=${import.meta.filename}`, /llama-bench.test.ts is not a program/);
  expect(`ik=${folder}`, /is not a program/);
});

/** A program that answers like llama-bench: ten milliseconds for each token of the last repetition. */
function program(name: string, script: string): string {
  const path = join(folder, name);
  writeFileSync(path, `#!${process.execPath}\n${script}`);
  chmodSync(path, 0o755);
  return path;
}

test('turns are the last repetition of a run with the model, threads and tokens', async () => {
  const path = program(
    'llama-bench',
    `const option = (name) => process.argv[process.argv.indexOf(name) + 1];
     if (option('-m') !== 'some.gguf' || option('-t') !== '3' || option('-o') !== 'json') process.exit(1);
     const [n_prompt, n_gen] = [Number(option('-p')), Number(option('-n'))];
     const samples_ns = Array.from({ length: Number(option('-r')) }, (_, run, all) => 1e7 * (n_prompt + 2 * n_gen) + (run ? 0 : 5));
     console.log(JSON.stringify([{ build_commit: 'c', build_number: 1, cpu_info: 'p', n_prompt, n_gen, samples_ns }]));`,
  );
  const peer = await startLlamaBench({ name: 'ik', path }, { model: 'some.gguf', threads: 3, context: 256 });
  assert.is(peer.description, 'ik: build 1 (c), p');
  assert.is((await peer.prefill(50)).seconds, 0.5);
  assert.is((await peer.decode(50)).seconds, 1.000000005);
});

test('a program that fails is an error with its last line', async () => {
  const path = program('fails', `console.error('loading\\nunknown format'); process.exit(3);`);
  const started = startLlamaBench({ name: 'x', path }, { model: 'some.gguf', threads: 1, context: 256 });
  await started.then(
    () => assert.unreachable(),
    ({ message }: Error) => assert.is(message, `${path}: unknown format`),
  );
});

test.run();
