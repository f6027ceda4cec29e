import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { loadCatalogue } from '../../datasets/load.ts';
import { withFile } from '../../engine/gguf/file-source.ts';
import { dequantize } from '../../engine/gguf/formats/formats.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import { meanWidths, type Shape } from '../../engine/model/architecture.ts';
import { type Ended, hearthHere, runScript } from '../support/run-script.ts';

const test = suite('hearth');
let folder = '';
test.before(() => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-'));
});
test.after(() => rmSync(folder, { recursive: true }));

/** Runs a command in its own process. */
const hearth = (...options: readonly string[]): Promise<Ended> => runScript('bin/hearth.js', ...options);
const make = (name: string, ...options: readonly string[]): Promise<Ended> =>
  hearthHere('make-model', '--shape', 'tiny', '--out', join(folder, name), ...options);

test('make-model writes a tiny model, which inspect describes', async () => {
  const ended = await hearth('make-model', '--shape', 'tiny', '--out', join(folder, 'tiny.gguf'));
  assert.is(ended.code, 0, ended.stderr);
  assert.match(ended.stderr, /tiny\.gguf: tiny, Q4_K_M, 1\.0\d MiB, /);
  const inspected = await hearth('inspect', '--model', join(folder, 'tiny.gguf'));
  assert.is(inspected.code, 0, inspected.stderr);
  for (const line of [
    /^architecture +llama$/m,
    /^attention +8 query heads, 2 key and value heads of 32$/m,
    /^context +4096 tokens$/m,
    /^tokenizer +gpt2\/llama-bpe, 1024 tokens, \d+ merges, begins "<\|begin_of_text\|>", ends "<\|end_of_text\|>"$/m,
    /^Q4_K +13 +675 KiB +67 %$/m,
    /^layer 1 +345 KiB +345 KiB$/m,
  ]) {
    assert.match(inspected.stdout, line);
  }
});

test('inspect --json gives every size in bytes', async () => {
  await make('json.gguf', '--mix', 'Q8_0');
  const ended = await hearthHere('inspect', '--model', join(folder, 'json.gguf'), '--json');
  const found = JSON.parse(ended.stdout);
  // 557,056 elements of a layer's matrices in blocks of 34 bytes for 32, and two norms
  assert.equal(found.layerBytes, [591_872 + 2048, 591_872 + 2048]);
  assert.is(found.embeddingBytes, (1024 * 256 * 34) / 32);
  assert.is(found.weightBytes, 2 * 593_920 + 2 * 278_528 + 1024);
  assert.is(found.fileBytes, statSync(join(folder, 'json.gguf')).size);
  assert.is(found.parameters, 2 * (557_056 + 512) + 2 * 1024 * 256 + 256);
  assert.equal([found.shape.kinds.length, found.shape.kinds[0].layers], [1, [0, 1]]);
  assert.is(found.shape.kinds[0].mixer.headSize, 32);
});

test('make-model writes the same bytes for the same seed and others for another seed', async () => {
  await Promise.all([make('a.gguf', '--seed', '7'), make('b.gguf', '--seed', '7'), make('c.gguf', '--seed', '8')]);
  const [a, b, c] = ['a', 'b', 'c'].map((name) => readFileSync(join(folder, `${name}.gguf`)));
  assert.ok(b !== undefined && a?.equals(b));
  assert.not(c === undefined || a?.equals(c));
});

test('models of one seed hold the same weights in every format', async () => {
  await Promise.all([make('f32.gguf', '--mix', 'F32'), make('q6.gguf', '--mix', 'Q6_K')]);
  const [exact, rounded] = ['f32.gguf', 'q6.gguf'].map((name) => {
    const path = join(folder, name);
    const tensor = withFile(path, readGguf).tensors.find((candidate) => candidate.name === 'blk.1.ffn_up.weight');
    assert.ok(tensor);
    const values = new Float32Array(256 * 512);
    dequantize(tensor.type, readFileSync(path).subarray(tensor.offset, tensor.offset + tensor.bytes), values);
    return values;
  });
  assert.ok(exact !== undefined && rounded !== undefined);
  // Deviation 1/16; Q6_K is off by 1.9 % of it on normal values.
  const squares = exact.reduce((sum, value, index) => sum + (value - (rounded[index] as number)) ** 2, 0);
  assert.ok(Math.sqrt(squares / exact.length) < 0.02 / 16);
});

test('the shape 1b is that of TinyLlama in the catalogue', () => {
  const shape = loadCatalogue().find((model) => model.shape.name === 'TinyLlama-1.1B')?.shape;
  assert.equal([shape?.layers, shape?.vocabularySize], [22, 32_000]);
  const { ffnSize, kvHeads } = meanWidths(shape as Shape);
  assert.equal([ffnSize, kvHeads], [5632, 4]);
});

test('every command has --help', async () => {
  const [plain, bare, inspect, makeModel] = await Promise.all([
    hearth('--help'),
    hearthHere(),
    hearthHere('inspect', '--help'),
    hearthHere('make-model', '--help'),
  ]);
  assert.equal([plain.code, bare.code, inspect.code, makeModel.code], [0, 0, 0, 0]);
  assert.is(bare.stdout, plain.stdout);
  assert.match(plain.stdout, /inspect[\s\S]*make-model/);
  assert.match(inspect.stdout, '--model <file>');
  assert.match(makeModel.stdout, '--shape <name>');
});

const MISTAKES: readonly [string, readonly string[], string | RegExp][] = [
  ['an unknown command', ['inspct'], "unknown command 'inspct' (Did you mean inspect?); see hearth --help\n"],
  ['a missing option', ['tokenize'], "required option '--model <file>' not specified; see hearth tokenize --help\n"],
  [
    'neither a model nor --devices',
    ['inspect'],
    '--model: or --devices is needed, but not both: a GGUF file, or this machine’s GPUs\n',
  ],
  [
    'a misspelt option',
    ['inspect', '--model', 'x', '--jsno'],
    "unknown option '--jsno' (Did you mean --json?); see hearth inspect --help\n",
  ],
  [
    'a missing file',
    ['inspect', '--model', 'nowhere.gguf'],
    'nowhere.gguf: there is no such file; give the path of a GGUF file\n',
  ],
  ['a folder', ['inspect', '--model', 'engine'], 'engine: is not a regular file; give the path of a GGUF file\n'],
  [
    'another kind of file',
    ['inspect', '--model', 'LICENSE'],
    /^LICENSE: byte 0: the file begins with [0-9a-f]{8} \(hexadecimal\), not with "GGUF"; a GGUF file is needed\n$/,
  ],
  [
    'an unknown shape',
    ['make-model', '--shape', 'Llama-3-8b', '--out', 'x.gguf'],
    '--shape: no shape is called "Llama-3-8b"; did you mean "Llama-3-8B"?\n',
  ],
  [
    'an unknown mix',
    ['make-model', '--shape', 'tiny', '--mix', 'Q4_K_L', '--out', 'x.gguf'],
    '--mix: unknown "Q4_K_L"; did you mean "Q4_K_M"?\n',
  ],
  [
    'a seed that is no number',
    ['make-model', '--shape', 'tiny', '--seed', 'x', '--out', 'x.gguf'],
    '--seed: "x" is not a whole number between 0 and 4294967295\n',
  ],
  [
    'a folder that is not there',
    ['make-model', '--shape', 'tiny', '--out', 'nowhere/x.gguf'],
    '--out nowhere/x.gguf: there is no folder nowhere; create it first\n',
  ],
];

for (const [what, options, expected] of MISTAKES) {
  test(`${what} is reported in one line with exit code 2`, async () => {
    const ended = await hearthHere(...options);
    assert.is(ended.code, 2);
    if (typeof expected === 'string') assert.is(ended.stderr, expected);
    else assert.match(ended.stderr, expected);
    assert.not(existsSync('x.gguf'));
  });
}

test('a truncated file is reported as truncated, with the offset', async () => {
  const path = join(folder, 'cut.gguf');
  await make('whole.gguf');
  writeFileSync(path, readFileSync(join(folder, 'whole.gguf')).subarray(0, 500_000));
  const ended = await hearthHere('inspect', '--model', path);
  assert.is(ended.code, 2);
  assert.match(
    ended.stderr,
    /cut\.gguf: byte \d+: tensor "[^"]+" has \d+ bytes from byte \d+, but the file ends at byte 500000; it is truncated\n$/,
  );
});

test.run();
