import { copyFileSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { withFile } from '../../engine/gguf/file-source.ts';
import type { GgufTensor } from '../../engine/gguf/gguf.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import { allFinite } from '../../engine/runtime/pass/finite-logits.ts';
import { type Running, startWorkerProcess } from '../ring/processes.ts';
import { madeFile } from '../runtime/made-file.ts';
import { hearthHere, runScript } from '../support/run-script.ts';

const test = suite('weights that are no numbers');
let [folder, model] = ['', ''];
const started: Running[] = [];
test.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-'));
  model = await madeFile({ folder, name: 'tiny', shape: { vocabularySize: 1024 } });
});
test.after(() => {
  for (const { child } of started) child.kill('SIGKILL');
  rmSync(folder, { recursive: true });
});

/** A copy of the model, with these bytes in the first block of a tensor. */
function spoilt(name: string, tensor: string, bytes: readonly number[]): string {
  const path = join(folder, name);
  copyFileSync(model, path);
  const found = withFile(path, readGguf).tensors.find((one) => one.name === tensor) as GgufTensor;
  writeSync(openSync(path, 'r+'), Uint8Array.from(bytes), 0, bytes.length, found.offset);
  return path;
}

const NAN = [0, 0, 0xc0, 0x7f]; // float32
const PROMPT = ['--prompt', 'The weights', '--tokens', '2', '--temperature', '0'];

test('logits and generate name the first tensor that has none, with exit code 2', async () => {
  const path = spoilt('norm.gguf', 'blk.1.attn_norm.weight', NAN);
  const message = `${path}: the file’s weights give no numbers: blk.1.attn_norm.weight has NaN or infinity at value 0; use another file\n`;
  for (const options of [
    ['logits', '--tokens', '1,2', '--json'],
    ['logits', '--tokens', '1,2', '--all'],
    ['generate', ...PROMPT],
  ]) {
    const { code, stdout, stderr } = await hearthHere(options[0] as string, '--model', path, ...options.slice(1));
    assert.is(code, 2);
    assert.is(stdout, '');
    assert.ok(stderr.endsWith(message), stderr);
  }
});

test('a head names a tensor of its file, whoever has computed with it', async () => {
  const path = spoilt('ring.gguf', 'blk.0.attn_norm.weight', NAN);
  const worker = await startWorkerProcess(path, '--plain');
  started.push(worker.running);
  const file = (name: string, content: unknown): string => {
    const to = join(folder, name);
    writeFileSync(to, JSON.stringify(content));
    return to;
  };
  const cluster = file('ring.json', { devices: [{ name: 'h' }, { name: 'w', address: worker.address }] });
  const cpu = (device: string) => ({ device, processor: 'cpu' });
  const plan = file('plan.json', {
    rounds: 1,
    stages: [
      { ...cpu('w'), from: 0, to: 1 },
      { ...cpu('h'), from: 1, to: 2 },
    ],
    embedding: cpu('h'),
    output: cpu('h'),
    kvCache: 'with-layers',
  });
  const ring = ['--plain', '--cluster', cluster, '--plan', plan];
  const { code, stderr } = await runScript('bin/hearth.js', 'run', '--model', path, ...PROMPT, ...ring);
  assert.is(code, 2, stderr);
  assert.match(stderr, /weights give no numbers: blk\.0\.attn_norm\.weight has NaN/, stderr);
});

test('a single infinite value among many is found, and large finite ones are allowed', () => {
  for (const length of [1, 2, 7, 1000]) {
    for (const at of [0, length - 1, length >> 1]) {
      for (const value of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
        const values = new Float32Array(length).fill(3e38);
        assert.ok(allFinite(values));
        values[at] = value;
        assert.not(allFinite(values));
      }
    }
  }
  const opposite = Float32Array.of(Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY);
  assert.not(allFinite(opposite));
});

test.run();
