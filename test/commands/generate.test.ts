import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Ended, hearthHere, runCommand, runScript } from '../support/run-script.ts';

const test = suite('hearth generate and tokenize');
let folder = '';
let model = '';
test.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-'));
  model = join(folder, 'tiny.gguf');
  await hearthHere('make-model', '--shape', 'tiny', '--out', model);
});
test.after(() => rmSync(folder, { recursive: true }));

const hearth = (command: string, ...options: readonly string[]): Promise<Ended> =>
  hearthHere(command, '--model', model, ...options);
const PROMPT = ['--prompt', 'The weights of a layer', '--kernels', 'reference'] as const;
const generate = (...options: readonly string[]): Promise<Ended> => hearth('generate', ...PROMPT, ...options);

test('tokenize prints ids as JSON, or with their text', async () => {
  const file = join(folder, 'text.txt');
  writeFileSync(file, 'Hé\n');
  const [json, table] = await Promise.all([
    hearth('tokenize', '--text', 'Hé\n<|end_of_text|>', '--add-special', '--parse-special', '--json'),
    hearth('tokenize', '--text-file', file),
  ]);
  assert.is(json.code, 0, json.stderr);
  assert.equal(JSON.parse(json.stdout), [1022, 0x48, 0xc3, 0xa9, 0x0a, 1023]);
  assert.is(table.stdout, '  72  "H"\n 195  "Ã"\n 169  "©"\n  10  "Ċ"\n');
});

/** Greedy tokens of random weights (seed 1): names of unused tokens, words, parts of characters. */
const GREEDY_TOKENS = [539, 524, 281, 437, 991, 561, 154, 158];
const GREEDY_TEXT = '[unused_78][unused_63] is device[unused_530][unused_100]\ufffd\ufffd';

test('generate gives exactly the text of the reference kernels', async () => {
  const greedy = ['--temperature', '0', '--tokens', '8', '--kv', 'F32', '--json'];
  const ended = await runScript('bin/hearth.js', 'generate', '--model', model, ...PROMPT, ...greedy);
  assert.is(ended.code, 0, ended.stderr);
  const found = JSON.parse(ended.stdout);
  assert.equal(found.tokens, GREEDY_TOKENS);
  assert.is(found.text, GREEDY_TEXT);
  assert.is(found.promptTokens, 6);
  assert.is(found.reason, 'length');
  assert.ok(found.firstTokenSeconds > 0 && found.tokensPerSecond > 0);
});

test('generate uses the reference kernels without the addon, with a warning', async () => {
  const withoutAddon = (...options: readonly string[]): Promise<Ended> => {
    const command = ['bin/hearth.js', 'generate', '--model', model, '--prompt'];
    const request = ['The weights of a layer', '--temperature', '0', '--tokens', '8', '--kv', 'F32', '--json'];
    const addon = `HEARTH_ADDON=${join(folder, 'nowhere.node')}`;
    return runCommand(['env', addon, process.execPath, ...command, ...request, ...options]);
  };
  const ended = await withoutAddon();
  assert.is(ended.code, 0, ended.stderr);
  assert.equal(JSON.parse(ended.stdout).tokens, GREEDY_TOKENS);
  assert.match(
    ended.stderr,
    /^native kernels: not available, so this runs on the reference kernels, slowly; install g/,
  );
  const native = await withoutAddon('--kernels', 'native');
  assert.is(native.code, 2);
  assert.match(
    native.stderr,
    /^native kernels: not available \(.*nowhere\.node.*\); install g\+\+ and run: npm run build:native\n$/,
  );
});

test('generate gives the same text for the same seed and another one for another seed', async () => {
  const [a, b, c] = await Promise.all(['7', '7', '8'].map((seed) => generate('--seed', seed, '--tokens', '12')));
  assert.is(a?.code, 0, a?.stderr);
  assert.is(a?.stdout, b?.stdout);
  assert.is.not(a?.stdout, c?.stdout);
  assert.match(a?.stderr ?? '', /^6 prompt tokens, TTFT [\d.]+ m?s, 12 tokens, [\d.]+ tokens\/s\n$/);
});

test('generate streams the text and a line break', async () => {
  const [plain, json] = await Promise.all([generate('--tokens', '12'), generate('--tokens', '12', '--json')]);
  assert.is(plain.stdout, `${JSON.parse(json.stdout).text}\n`);
});

test('generate stops before a stop string', async () => {
  const stops = ['--stop', 'never there', '--stop', ' is dev'];
  const ended = await generate('--temperature', '0', '--tokens', '8', '--kv', 'F32', '--json', ...stops);
  const { text, tokens, reason } = JSON.parse(ended.stdout);
  assert.is(text, '[unused_78][unused_63]');
  assert.equal(tokens, GREEDY_TOKENS.slice(0, 4));
  assert.is(reason, 'stop');
});

test('Ctrl-C ends generate with exit code 130', async () => {
  const options = ['--model', model, '--prompt', 'x', '--kernels', 'reference', '--tokens', '4000'];
  const child = spawn(process.execPath, ['bin/hearth.js', 'generate', ...options]);
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk) => {
    if (stdout === '') child.kill('SIGINT');
    stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  const code = await new Promise((resolve) => child.on('close', resolve));
  assert.is(code, 130);
  assert.match(stdout, /.\n$/);
  assert.match(stderr, /^2 prompt tokens, TTFT [\d.]+ m?s, \d+ tokens?, ([\d.]+ tokens\/s, )?interrupted\n$/);
});

test('generate reports errors in one line with exit code 2', async () => {
  const room = 'ask for fewer or a longer context\n';
  const cases: [string[], string][] = [
    [['--stop', ''], '--stop: is empty; give the text at which to stop\n'],
    [
      ['--context', '10', '--tokens', '8'],
      `context: 6 tokens of the prompt and 8 to generate are 14, but it has room for 10; ${room}`,
    ],
    [
      ['--tokens', '5000'],
      `context: 6 tokens of the prompt and 5000 to generate are 5006, but it has room for 4096; ${room}`,
    ],
  ];
  await Promise.all(
    cases.map(async ([options, expected]) => {
      const ended = await generate(...options);
      assert.is(ended.stderr, expected);
      assert.is(ended.code, 2);
      assert.is(ended.stdout, '');
    }),
  );
});

test('generate --chat refuses a model without a chat template', async () => {
  const ended = await generate('--chat', '--system', 'Be brief.');
  assert.is(ended.code, 2);
  assert.match(ended.stderr, /tiny\.gguf: metadata tokenizer\.chat_template: is missing; .* leave out --chat\n$/);
});

test('tokenize refuses no text, two texts, a missing file and another encoding', async () => {
  const latin = join(folder, 'latin.txt');
  writeFileSync(latin, Uint8Array.of(0x48, 0xe9));
  const cases: [string[], string][] = [
    [[], '--text: no text is given; use --text or --text-file\n'],
    [['--text', 'a', '--text-file', latin], '--text: and --text-file exclude each other\n'],
    [['--text-file', 'nowhere.txt'], 'nowhere.txt: there is no such file\n'],
    [['--text-file', latin], `${latin}: is not UTF-8\n`],
  ];
  await Promise.all(
    cases.map(async ([options, expected]) => {
      const ended = await hearth('tokenize', ...options);
      assert.is(ended.stderr, expected);
      assert.is(ended.code, 2);
    }),
  );
});

test.run();
