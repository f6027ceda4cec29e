import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Running, startWorkerProcess } from '../ring/processes.ts';
import { madeFile } from '../runtime/made-file.ts';
import { hearthHere, runScript } from '../support/run-script.ts';
import { writeParts } from '../support/write-parts.ts';

const test = suite('a model in several files, in commands');
let [folder, whole, first] = ['', '', ''];
let parts: string[] = [];
/** Processes that are ended after the tests, since a failed test leaves its worker running. */
const started: Running[] = [];
test.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-parts-'));
  whole = await madeFile({ folder, name: 'whole', shape: { vocabularySize: 1024, layers: 3 } });
  parts = await writeParts(whole, { folder, name: 'parts', count: 3 });
  first = parts[0] as string;
});
test.after(() => {
  for (const { child } of started) child.kill('SIGKILL');
  rmSync(folder, { recursive: true });
});

const PROMPT = ['--prompt', 'The weights', '--tokens', '6', '--temperature', '0', '--json'];

test('on a ring of processes it has the tokens of one file on one, whoever has it in parts', async () => {
  const [worker, other] = await Promise.all([startWorkerProcess(first), startWorkerProcess(whole)]);
  started.push(worker.running, other.running);
  const [cluster, plan] = [join(folder, 'ring.json'), join(folder, 'plan.json')];
  const devices = [{ name: 'h' }, { name: 'w', address: worker.address }, { name: 'o', address: other.address }];
  writeFileSync(cluster, JSON.stringify({ devices }));
  const stages = ['h', 'w', 'o'].map((device, from) => ({ device, processor: 'cpu', from, to: from + 1 }));
  const head = { device: 'h', processor: 'cpu' };
  writeFileSync(plan, JSON.stringify({ rounds: 1, stages, embedding: head, output: head, kvCache: 'with-layers' }));
  const links = ['--cluster', cluster, '--plan', plan, '--plain'];
  const ring = await runScript('bin/hearth.js', 'run', '--model', first, ...PROMPT, ...links);
  const alone = await runScript('bin/hearth.js', 'generate', '--model', whole, ...PROMPT);
  assert.is(ring.code, 0, ring.stderr);
  assert.equal(JSON.parse(ring.stdout).tokens, JSON.parse(alone.stdout).tokens);
  for (const { running } of [worker, other]) {
    running.child.kill('SIGTERM');
    assert.is(await running.ended, 0);
  }
});

test('it is planned as the one file is', async () => {
  const planned = async (model: string): Promise<string> => {
    const options = ['--cluster', 'prima-home', '--model', model, '--context', '64', '--json'];
    const { code, stdout, stderr } = await hearthHere('plan', ...options);
    assert.is(code, 0, stderr);
    return stdout.replaceAll(model, 'MODEL');
  };
  assert.is(await planned(first), await planned(whole));
});

test('split cuts it as it cuts the one file', async () => {
  const plan = join(folder, 'plan.json');
  for (const [out, model] of [
    ['of-parts', first],
    ['of-whole', whole],
  ] as const) {
    const { code, stderr } = await hearthHere('split', '--model', model, '--plan', plan, '--out', join(folder, out));
    assert.is(code, 0, stderr);
  }
  for (const device of ['h', 'w', 'o']) {
    const [cut, expected] = ['of-parts', 'of-whole'].map((out) => readFileSync(join(folder, out, `${device}.gguf`)));
    assert.ok(cut?.equals(expected ?? Buffer.alloc(0)), device);
  }
});

test('quantize makes the same file of it, counts the bytes of all parts, and spares each of them', async () => {
  const spared = await hearthHere('quantize', '--in', first, '--out', parts[1] as string, '--mix', 'Q8_0', '--force');
  assert.is(spared.code, 2);
  const out = join(folder, 'q8.gguf');
  const given = ['--mix', 'Q8_0', '--json'];
  const { code, stdout, stderr } = await hearthHere('quantize', '--in', first, '--out', out, ...given);
  assert.is(code, 0, stderr);
  assert.is(
    JSON.parse(stdout).bytesBefore,
    parts.reduce((sum, path) => sum + statSync(path).size, 0),
  );
  const wholeOut = join(folder, 'whole-q8.gguf');
  await hearthHere('quantize', '--in', whole, '--out', wholeOut, '--mix', 'Q8_0', '--json');
  assert.ok(readFileSync(out).equals(readFileSync(wholeOut)));
});

test.run();
