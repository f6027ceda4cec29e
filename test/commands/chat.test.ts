import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startWorkerProcess } from '../ring/processes.ts';
import { madeFile } from '../runtime/made-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'hearth-'));
test.after(() => rmSync(folder, { recursive: true }));
const template = '{% for message in messages %}[{{ message.role }}] {{ message.content }}{% endfor %}[assistant]';
const model = await madeFile({
  folder,
  name: 'chat',
  metadata: [['tokenizer.chat_template', { type: 'string', value: template }]],
});

const GREEDY = ['--model', model, '--temperature', '0', '--tokens', '6', '--kernels', 'reference'];

/** Runs `hearth` with a standard input. */
async function hearth(input: string | Uint8Array, ...options: readonly string[]) {
  const child = spawn(process.execPath, ['--import', 'tsx', 'bin/hearth.ts', ...options]);
  child.stdin.on('error', () => {}).end(input);
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { stdout, stderr, code: await ended };
}

test('each line is a message; /new begins anew', async () => {
  const [chat, alone] = await Promise.all([
    hearth('Hello\nAnd now?\n/new\nHello\n', 'chat', ...GREEDY),
    hearth('', 'generate', '--chat', '--prompt', 'Hello', ...GREEDY),
  ]);
  assert.is(chat.code, 0, chat.stderr);
  const timings = chat.stderr.trim().split('\n');
  assert.is(timings.length, 3);
  for (const line of timings) assert.match(line, /^\d+ prompt tokens?, TTFT /);
  assert.ok(chat.stdout.startsWith(alone.stdout) && chat.stdout.endsWith(alone.stdout));
});

test('a conversation in a ring is that of one machine', async () => {
  const worker = await startWorkerProcess(model);
  try {
    const cluster = join(folder, 'ring.json');
    writeFileSync(cluster, JSON.stringify({ devices: [{ name: 'h' }, { name: 'w', address: worker.address }] }));
    const stage = (device: string, from: number) => ({ device, processor: 'cpu', from, to: from + 1 });
    const place = { device: 'h', processor: 'cpu' };
    const plan = join(folder, 'plan.json');
    const stages = [stage('h', 0), stage('w', 1)];
    writeFileSync(plan, JSON.stringify({ rounds: 1, stages, embedding: place, output: place, kvCache: 'with-layers' }));
    const told = 'Hello\nAnd now?\n';
    const [ring, alone] = await Promise.all([
      hearth(told, 'chat', ...GREEDY, '--cluster', cluster, '--plan', plan, '--plain'),
      hearth(told, 'chat', ...GREEDY),
    ]);
    assert.is(ring.code, 0, ring.stderr);
    assert.is(ring.stdout, alone.stdout);
    assert.match(worker.running.stderr, /serves h$/m);
  } finally {
    worker.running.child.kill('SIGTERM');
  }
});

test('what cannot be answered ends a conversation that nobody types', async () => {
  const { code, stderr } = await hearth(`${'x'.repeat(300)}\nHello\n`, 'chat', ...GREEDY, '--context', '64');
  assert.is(code, 2);
  assert.match(stderr, /conversation: it has \d+ tokens, and the context has room for 64/);
});

test('a prompt is read from standard input, without the line break at its end', async () => {
  const [piped, given] = await Promise.all([
    hearth('two\nlines\n', 'generate', '--prompt', '-', ...GREEDY),
    hearth('', 'generate', '--prompt', 'two\nlines', ...GREEDY),
  ]);
  assert.is(piped.code, 0, piped.stderr);
  assert.is(piped.stdout, given.stdout);
});

test('a standard input that is no text is refused', async () => {
  const { code, stderr } = await hearth(Uint8Array.of(0xff, 0xfe), 'generate', '--prompt', '-', ...GREEDY);
  assert.is(code, 2);
  assert.match(stderr, /--prompt -: standard input is not UTF-8 text\n$/);
});

test.run();
