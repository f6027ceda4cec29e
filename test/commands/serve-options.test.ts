import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { madeFile } from '../runtime/made-file.ts';
import { hearthHere } from '../support/run-script.ts';

const folder = mkdtempSync(join(tmpdir(), 'hearth-'));
test.after(() => rmSync(folder, { recursive: true }));
const model = await madeFile({ folder, name: 'served' });
const openKey = join(folder, 'open-key');
writeFileSync(openKey, 'k'.repeat(32));
chmodSync(openKey, 0o644);

const REFUSED: readonly (readonly [options: readonly string[], line: RegExp])[] = [
  [['--host', '0.0.0.0'], /^--host: other machines reach 0\.0\.0\.0, .*give a key by --api-key-file or HEARTH_API_KEY/],
  [['--host', 'example.com'], /^--host: "example\.com" is not an address of this machine/],
  [['--host', '192.0.2.1', '--api-key', 'k'.repeat(32)], /^--host: 192\.0\.2\.1 is not an address of this machine/],
  [['--api-key', 'short'], /^--api-key: is not a key; give at least 16 characters/],
  [['--api-key-file', join(folder, 'none')], /none: can’t be read \(ENOENT\)/],
  [['--api-key-file', openKey], /open-key: can be read by other users; chmod 600 it/],
  [['--api-key-file', openKey, '--api-key', 'k'.repeat(32)], /^--api-key: and --api-key-file exclude each other/],
  [['--port', '65536'], /^--port: "65536" is not a whole number between 0 and 65535/],
  [['--max-texts', '0'], /^--max-texts: "0" is not a whole number between 1 and 10000/],
  [['--name', ' '], /^--name: is empty/],
  [['--parallel', '0'], /^--parallel: "0" is not a whole number between 1 and 1024/],
  [['--draft-tokens', '3'], /^--draft-tokens: is used only with --draft or --lookup; add one/],
  [
    ['--draft', 'datasets/models/stories-300k.gguf'],
    /stories-300k\.gguf: has 1024 tokens, and the model has \d+; a draft needs the vocabulary of /,
  ],
  [['--plan', 'p.json'], /^--plan: is about a ring; give its devices by --worker or --cluster, or leave it out/],
  [
    ['--device', 'any'],
    /^--device: is about a ring or a GPU; give --worker or --cluster, or --gpu-layers, or leave it out/,
  ],
  [['--gpu-layers', '1', '--profile', 'p.json'], /^--profile: is about a ring or a GPU; .* or --gpu-layers auto, or/],
  [['--gpu-layers', 'some'], /^--gpu-layers: "some" is not a whole number; allowed: a number of layers, all, auto/],
  [['--gpu-layers', '1', '--memory', '1GiB'], /^--memory: works on the CPU alone; leave --gpu-layers out/],
  [
    ['--gpu-layers', '1', '--worker', 'tcp://127.0.0.1:9', '--plain'],
    /^--gpu-layers: is about this machine alone; in a ring --plan says what GPUs compute/,
  ],
  [['--worker', 'tcp://127.0.0.1:9', '--cluster', 'c.json'], /^--cluster: or --worker is needed, but not both/],
  [['--worker', 'tcp://127.0.0.1:9'], /^--keys: is missing/],
];

for (const [options, line] of REFUSED) {
  test(`hearth serve ${options.join(' ').replaceAll(folder, '')} is refused in one line`, async () => {
    const { code, stderr } = await hearthHere('serve', '--model', model, '--kernels', 'reference', ...options);
    assert.is(code, 2, stderr);
    assert.match(stderr, line);
    assert.is(stderr.trim().split('\n').length, 1);
    assert.not(stderr.includes('kkkk'));
  });
}

test('a model that is not there', async () => {
  const { code, stderr } = await hearthHere('serve', '--model', join(folder, 'none.gguf'));
  assert.is(code, 2);
  assert.match(stderr, /none\.gguf/);
});

test('a port that is in use', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => other.once('listening', resolve));
  const { port } = other.address() as { port: number };
  const asked = ['serve', '--kernels', 'reference', '--port', `${port}`];
  const { code, stderr } = await hearthHere(...asked, '--model', model);
  const own = await hearthHere(...asked);
  other.close();
  assert.is(code, 2);
  const line = `--port: ${port} is in use by another program; give another one, or 0 for a free one\n`;
  assert.is(stderr, line);
  assert.match(own.stderr, /^no --model given; using the bundled demo model .*stories-3m\.gguf/);
  assert.ok(own.stderr.endsWith(line), own.stderr);
});

test.run();
