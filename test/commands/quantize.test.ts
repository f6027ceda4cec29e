import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { withFile } from '../../engine/gguf/file-source.ts';
import { readImportance } from '../../engine/gguf/importance.ts';
import { hearthHere } from '../support/run-script.ts';

const test = suite('hearth quantize');
const STORIES = 'datasets/models/stories-300k.gguf';
let folder = '';
const file = (name: string): string => join(folder, name);
test.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-quantize-command-'));
  await hearthHere('make-model', '--shape', 'tiny', '--mix', 'F16', '--out', file('f16.gguf'));
});
test.after(() => rmSync(folder, { recursive: true }));

test('prints a row for each tensor, the sizes and the bits of a weight', async () => {
  const ended = await hearthHere('quantize', '--in', file('f16.gguf'), '--out', file('q4.gguf'));
  assert.is(ended.code, 0, ended.stderr);
  assert.match(ended.stdout, /^blk\.0\.ffn_gate\.weight +F16 +Q4_K +256 KiB +72\.0 KiB +7\.\d\d %$/m);
  assert.match(ended.stdout, /^output_norm\.weight +F32 +F32 +1\.00 KiB +1\.00 KiB +0 %$/m);
  assert.match(ended.stderr, /q4\.gguf: Q4_K_M, 3\.1\d MiB before, 1\.0\d MiB now, 5\.\d\d bits per weight, /);
  const inspected = await hearthHere('inspect', '--model', file('q4.gguf'));
  assert.match(inspected.stdout, /1\.64 million parameters as Q4_K_M/);
});

test('--json has sizes in bytes and errors as shares', async () => {
  const ended = await hearthHere(
    'quantize',
    '--in',
    file('f16.gguf'),
    '--out',
    file('q8.gguf'),
    '--mix',
    'Q8_0',
    '--json',
  );
  const { mix, bytes, bytesBefore, tensors } = JSON.parse(ended.stdout);
  assert.is(mix, 'Q8_0');
  assert.equal([bytesBefore, bytes], [statSync(file('f16.gguf')).size, statSync(file('q8.gguf')).size]);
  const [embedding] = tensors;
  assert.equal([embedding.name, embedding.from, embedding.to], ['token_embd.weight', 'F16', 'Q8_0']);
  assert.equal([embedding.bytesBefore, embedding.bytes], [1024 * 256 * 2, (1024 * 256 * 34) / 32]);
  assert.ok(embedding.error > 0.004 && embedding.error < 0.006, String(embedding.error));
});

test('the input is never written to, and nothing is replaced without --force', async () => {
  const refused = async (message: RegExp, ...options: readonly string[]) => {
    const ended = await hearthHere('quantize', ...options);
    assert.is(ended.code, 2);
    assert.match(ended.stderr, message);
    assert.is(ended.stderr.trim().split('\n').length, 1);
  };
  await refused(
    /is a file that this command reads; give another path/,
    '--in',
    file('f16.gguf'),
    '--out',
    file('f16.gguf'),
    '--force',
  );
  await refused(/exists; give another path, or --force/, '--in', file('f16.gguf'), '--out', file('q4.gguf'));
  await refused(/blk\.0\.attn_q\.weight: is Q8_0 already/, '--in', STORIES, '--out', file('s.gguf'));
  await refused(/unknown "Q4_K_X"; did you mean "Q4_K_M"/, '--in', STORIES, '--out', file('s.gguf'), '--mix', 'Q4_K_X');
  await refused(
    /f16\.gguf: is not an importance matrix/,
    '--in',
    file('f16.gguf'),
    '--out',
    file('s.gguf'),
    '--importance',
    file('f16.gguf'),
  );
  assert.is(existsSync(file('s.gguf')), false);
});

test('hearth importance measures inputs, by which hearth quantize weighs errors', async () => {
  const [text, out] = [file('text.txt'), file('importance.gguf')];
  writeFileSync(text, 'One day, Mia had 8 plums. '.repeat(40));
  const model = ['--model', 'datasets/models/stories-3m.gguf', '--text', text, '--out', out];
  const measured = await hearthHere('importance', ...model, '--chunk', '64', '--chunks', '3');
  assert.is(measured.code, 0, measured.stderr);
  assert.match(measured.stderr, /importance\.gguf: inputs of 28 matrices, 3 chunks of 64 tokens, /);
  assert.equal(withFile(out, readImportance).datasets, ['text.txt']);
  const given = ['--in', 'datasets/models/stories-3m.gguf', '--mix', 'Q2_K_S', '--requantize', '--importance', out];
  const ended = await hearthHere('quantize', ...given, '--out', file('q2.gguf'));
  assert.is(ended.code, 0, ended.stderr);
  assert.match(ended.stdout, /^token_embd\.weight .* –$/m);
  const [, error, weighted] = /^blk\.3\.ffn_down\.weight .* ([\d.]+) % +([\d.]+) %$/m.exec(ended.stdout) ?? [];
  assert.ok(Number(weighted) < 0.95 * Number(error), ended.stdout);
  const inspected = await hearthHere('importance', ...model);
  assert.is(inspected.code, 2);
  assert.match(inspected.stderr, /importance\.gguf: exists; give another path/);
});

test('hearth importance refuses an empty text and one of another coding', async () => {
  const given = ['--model', 'datasets/models/stories-3m.gguf', '--out', file('none.gguf'), '--text'];
  for (const [name, bytes, message] of [
    ['empty.txt', Buffer.alloc(0), /empty\.txt: is empty; give a text of the kind that the model will meet/],
    ['latin.txt', Buffer.from([0xe9, 0x20]), /latin\.txt: is not UTF-8/],
  ] as const) {
    writeFileSync(file(name), bytes);
    const { code, stderr } = await hearthHere('importance', ...given, file(name));
    assert.is(code, 2);
    assert.match(stderr, message);
  }
  assert.is(existsSync(file('none.gguf')), false);
});

test('a signal that ends it leaves no file', async () => {
  const child = spawn(process.execPath, [
    ...[
      'bin/hearth.js',
      'quantize',
      '--in',
      'datasets/models/stories-3m.gguf',
      '--out',
      file('cut.gguf'),
      '--requantize',
    ],
  ]);
  const ended = new Promise((resolve) => child.on('exit', (_, signal) => resolve(signal)));
  const isBegun = (): boolean => readdirSync(folder).some((name) => name.startsWith('cut.gguf.'));
  while (!isBegun() && child.exitCode === null) await setTimeout(5);
  child.kill('SIGTERM');
  assert.is(await ended, 'SIGTERM');
  assert.is(
    readdirSync(folder).some((name) => name.startsWith('cut.')),
    false,
  );
});

test.run();
