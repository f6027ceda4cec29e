import { copyFileSync, mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI from 'openai';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { RingState } from '../../engine/server/ring-state.ts';
import { type Running, startHearth, startWorkerProcess, until } from '../ring/processes.ts';
import { madeFile } from '../runtime/made-file.ts';
import { testGpu } from '../support/gpu.ts';

/** `hearth serve` as a process, on one machine and on a ring. */
let [folder, model] = ['', ''];
const started: Running[] = [];
test.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-serve-'));
  model = await madeFile({ folder, name: 'tiny', shape: { vocabularySize: 1024 } });
});
test.after(() => {
  for (const { child } of started) child.kill('SIGKILL');
  rmSync(folder, { recursive: true });
});

async function served(...options: readonly string[]) {
  const running = startHearth('serve', '--model', model, '--port', '0', '--threads', '1', ...options);
  started.push(running);
  const ended = (): boolean => running.child.exitCode !== null;
  await until('the server listens', 60, () => running.stderr.includes('serves tiny at ') || ended());
  const url = /at (http:\/\/\S+),/.exec(running.stderr)?.[1];
  assert.ok(url !== undefined, running.stderr);
  return { running, url: url as string, client: new OpenAI({ baseURL: `${url}/v1`, apiKey: 'any', maxRetries: 0 }) };
}

const PROMPTS = ['The weights', 'a', 'One two three four five six seven eight nine ten', 'b', 'z y x'];

/** The texts of all prompts, asked for at the same time; the first is streamed. */
function textsOf(client: OpenAI): Promise<string[]> {
  const request = { model: 'tiny', max_tokens: 12, temperature: 0 };
  return Promise.all(
    PROMPTS.map(async (prompt, index) => {
      if (index > 0) return (await client.completions.create({ ...request, prompt })).choices[0]?.text ?? '';
      let text = '';
      for await (const { choices } of await client.completions.create({ ...request, prompt, stream: true }))
        text += choices[0]?.text ?? '';
      return text;
    }),
  );
}

/** The answer to a prompt that goes on after another one, and how much of it was there. */
async function answerAgain(client: OpenAI) {
  const request = { model: 'tiny', max_tokens: 12, temperature: 0, prompt: PROMPTS[2] ?? '' };
  await client.completions.create(request);
  const { choices, usage } = await client.completions.create({ ...request, prompt: `${request.prompt} eleven` });
  return { text: choices[0]?.text, cached: usage?.prompt_tokens_details?.cached_tokens ?? 0 };
}

/** The vectors of all prompts. */
async function vectorsOf(client: OpenAI): Promise<number[][]> {
  const { data } = await client.embeddings.create({ model: 'tiny', input: PROMPTS });
  return data.map(({ embedding }) => embedding);
}

/** A cluster and a plan of this machine and workers, one layer each. */
function ringOf(addresses: readonly string[], ...options: readonly string[]): string[] {
  const names = ['h', ...addresses.map((_, index) => `w${index}`)].slice(0, 2);
  const [cluster, plan] = [join(folder, 'ring.json'), join(folder, 'plan.json')];
  const devices = [{ name: 'h' }, ...addresses.map((address, index) => ({ name: `w${index}`, address }))];
  const stages = names.map((device, index) => ({ device, processor: 'cpu', from: index, to: index + 1 }));
  const outer = { device: 'h', processor: 'cpu' };
  writeFileSync(cluster, JSON.stringify({ devices }));
  writeFileSync(plan, JSON.stringify({ rounds: 1, stages, embedding: outer, output: outer, kvCache: 'with-layers' }));
  return ['--cluster', cluster, '--plan', plan, '--plain', '--parallel', '5', '--context', '64', ...options];
}

test('a server and a ring write the same texts and vectors, whoever asks at the same time, and end on SIGTERM', async () => {
  const alone = await served('--context', '64');
  const expected = await textsOf(alone.client);
  const again = await answerAgain(alone.client);
  assert.ok(again.cached > 20, `${again.cached} tokens of a prompt are cached`);
  const vectors = await vectorsOf(alone.client);
  for (const vector of vectors) assert.ok(Math.abs(Math.hypot(...vector) - 1) < 1e-6);
  assert.ok(new Set(expected).size === PROMPTS.length, expected.join('|'));
  assert.is(await (await fetch(`${alone.url}/ring`)).json(), null);
  alone.running.child.kill('SIGTERM');
  assert.is(await alone.running.ended, 0, alone.running.stderr);

  const worker = await startWorkerProcess(model);
  started.push(worker.running);
  const ring = await served(...ringOf([worker.address]));
  assert.equal(await Promise.all([textsOf(ring.client), vectorsOf(ring.client)]), [expected, vectors]);
  assert.equal(await answerAgain(ring.client), again);
  const { status } = (await (await fetch(`${ring.url}/health`)).json()) as { status: string };
  assert.is(status, 'ok');
  const state = (await (await fetch(`${ring.url}/ring`)).json()) as RingState;
  assert.equal(
    state.devices.map(({ name, present, cpuLayers }) => ({ name, present, cpuLayers })),
    ['h', 'w0'].map((name) => ({ name, present: true, cpuLayers: 1 })),
  );
  ring.running.child.kill('SIGTERM');
  assert.is(await ring.running.ended, 0, ring.running.stderr);
  await until('the worker is free', 5, () => /freed\n$/.test(worker.running.stderr));

  const drafts = ['--draft', model, '--draft-tokens', '3'];
  for (const options of [['--context', '64', ...drafts], ringOf([worker.address], ...drafts, '--lookup', '2')]) {
    const guessing = await served(...options);
    assert.equal(await textsOf(guessing.client), expected);
    const metrics = await (await fetch(`${guessing.url}/metrics`)).text();
    const [drafted, accepted] = ['drafted', 'accepted'].map((what) =>
      Number(new RegExp(`^hearth_${what}_tokens_total (\\d+)$`, 'm').exec(metrics)?.[1]),
    ) as [number, number];
    assert.ok(drafted > 20 && accepted > drafted / 2, `${accepted} of ${drafted}`);
    guessing.running.child.kill('SIGTERM');
    assert.is(await guessing.running.ended, 0, guessing.running.stderr);
  }
});

testGpu('a server with a layer on a GPU writes the same texts, whoever asks at the same time', async () => {
  const { running, client } = await served('--context', '64', '--gpu-layers', '1');
  assert.match(running.stderr, /^1 of 2 layers on /m);
  const alone: string[] = [];
  for (const prompt of PROMPTS) {
    const { choices } = await client.completions.create({ model: 'tiny', max_tokens: 12, temperature: 0, prompt });
    alone.push(choices[0]?.text ?? '');
  }
  assert.equal(await textsOf(client), alone);
  running.child.kill('SIGTERM');
  assert.is(await running.ended, 0, running.stderr);
});

test('a ring that loses a device it can’t do without refuses what runs, and says why', async () => {
  const worker = await startWorkerProcess(model);
  started.push(worker.running);
  const ring = await served(...ringOf([worker.address]));
  worker.running.child.kill('SIGKILL');
  const failed = await ring.client.completions
    .create({ model: 'tiny', prompt: 'a', max_tokens: 12 })
    .catch((error) => error);
  assert.is(failed.status, 503);
  assert.is(failed.code, 'unavailable');
  assert.match(ring.running.stderr, /lost w0: the connection is cut\n/);
  assert.match(ring.running.stderr, /^a request failed: \S+plan\.json: needs w0, which is gone; with --scheduler/m);
  ring.running.child.kill('SIGTERM');
  assert.is(await ring.running.ended, 0, ring.running.stderr);
});

test('a server whose model file is cut ends with code 2 and says why', async () => {
  const whole = model;
  model = join(folder, 'tiny-cut', 'tiny.gguf');
  mkdirSync(join(folder, 'tiny-cut'));
  copyFileSync(whole, model);
  const { running, url } = await served();
  truncateSync(model, 4096);
  model = whole;
  const body = JSON.stringify({ prompt: 'a', max_tokens: 4 });
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${url}/v1/completions`, { method: 'POST', headers, body });
  assert.is(answer.status, 503);
  await until('the server ends', 30, () => running.child.exitCode !== null);
  assert.is(running.child.exitCode, 2);
  assert.match(running.stderr, /tiny\.gguf: .*\n$/);
});

test.run();
