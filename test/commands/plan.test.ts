import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { parsePlan } from '../../engine/plan/parse-plan.ts';
import { hearthHere } from '../support/run-script.ts';

const test = suite('hearth plan');
let folder = '';
test.before(() => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-'));
});
test.after(() => rmSync(folder, { recursive: true }));

const plan = (...options: readonly string[]) => hearthHere('plan', '--cluster', 'prima-home', ...options);

test('without a model there is one line for each of the catalogue', async () => {
  const { stdout, code } = await plan();
  assert.is(code, 0);
  assert.match(stdout, /^Llama-3-8B Q4_K_M +4\.58 GiB +in memory( +[\d.]+ ?m?s?){4} +8192\* +D3 0\+32$/m);
  assert.match(stdout, /^Llama-3-70B Q4_K_M +39\.6 GiB +from disk /m);
  assert.match(stdout, /^gpt-oss-120b MXFP4_MOE +59\.0 GiB +from disk +[\d.]+ +[\d.]+ /m);
  assert.not.match(stdout, 'Llama-3-45B');
  assert.match(stdout, /^49 of 65 models fit in the memory of prima-home\./m);
  assert.ok(stdout.split('\n').every((line) => line.length <= 150));
});

test('one model is shown with its memory, its devices, upgrades and command lines', async () => {
  const { stdout } = await plan('--model', 'Llama-3-70B:Q4_K_S');
  for (const line of [
    /^Llama-3-70B, Q4_K_S, 37\.\d GiB on prima-home$/m,
    /^simulated +[\d.]+ m?s a token, [\d.]+ tokens\/s$/m,
    /^without D1 /m,
    /^D3: memory 16 → 32 GiB /m,
    /^prima\.cpp, on D3:$/m,
  ])
    assert.match(stdout, line);
});

test('a GGUF file is planned from its header; --json and --save-plan give the plan', async () => {
  const file = join(folder, 'tiny.gguf');
  await hearthHere('make-model', '--shape', 'tiny', '--out', file);
  const saved = join(folder, 'plan.json');
  const { stdout, code } = await plan('--model', file, '--json', '--save-plan', saved);
  assert.is(code, 0);
  const [found] = JSON.parse(stdout);
  assert.equal(parsePlan(readFileSync(saved, 'utf8'), saved), parsePlan(JSON.stringify(found.plan), 'json'));
  assert.is(found.status, 'in-memory');
  assert.is(found.model.layers, 2);
});

test('a draft is planned with the model: how many tokens to guess at a time, and what they gain', async () => {
  const [large, small] = ['stories-3m', 'stories-300k'].map((name) => `datasets/models/${name}.gguf`) as [
    string,
    string,
  ];
  const { stdout, code } = await plan('--model', large, '--draft', small, '--acceptance', '0,0.9');
  assert.is(code, 0);
  assert.match(stdout, /^Draft datasets\/models\/stories-300k\.gguf: \d+ KiB on the CPU of D\d, /m);
  assert.match(stdout, /^ +0\.0 % +none pays +×1\.00 +×1\.00$/m);
  assert.match(stdout, /^ +90 % +(--draft-tokens \d+|none pays) +×[\d.]+ +×[\d.]+$/m);
  const json = await plan('--model', large, '--draft', small, '--json');
  const [{ drafts }] = JSON.parse(json.stdout);
  assert.equal(
    drafts.answers.map(({ acceptanceRate }: { acceptanceRate: number }) => acceptanceRate),
    [0.6, 0.8, 0.9],
  );
  const refused = await Promise.all([
    plan('--draft', small),
    plan('--model', large, '--acceptance', '0.5'),
    plan('--model', large, '--draft', small, '--acceptance', '2'),
    plan('--model', 'Llama-3-8B', '--draft', small),
  ]);
  for (const { code: refusal, stderr } of refused) {
    assert.is(refusal, 2);
    assert.is(stderr.trim().split('\n').length, 1, stderr);
  }
  assert.match(
    refused[3]?.stderr ?? '',
    /stories-300k has 1024 tokens, and Llama-3-8B has 128256; a draft needs the same/,
  );
});

test('every format that files are written in is planned, and models of a file of one’s own', async () => {
  const own = join(folder, 'own.csv');
  const columns =
    'name,architecture,layers,hidden_size,ffn_size,heads,kv_heads,head_size,vocabulary_size,tied_embeddings,qkv_bias,default_mix,provenance';
  writeFileSync(own, `${columns}\nmine,llama,8,1024,4096,8,8,128,32000,false,false,Q4_K_M,assumed: made up\n`);
  const formats = ['Q6_K', 'Q4_0', 'Q2_K', 'IQ4_XS'];
  const run = await plan('--model-file', own, '--json', ...formats.flatMap((mix) => ['--model', `mine:${mix}`]));
  assert.is(run.code, 0, run.stderr);
  const found: { model: { mix: string; bytes: number }; status: string }[] = JSON.parse(run.stdout);
  assert.equal(
    found.map(({ model: { mix }, status }) => [mix, status]),
    formats.map((mix) => [mix, 'in-memory']),
  );
  const sizes = found.map(({ model: { bytes } }) => bytes);
  assert.ok(new Set(sizes).size === 4 && Math.max(...sizes) === sizes[0]);
});

test('a pinned head is kept, and the saved cluster has the head of the plan', async () => {
  const saved = join(folder, 'headed.json');
  const devices = ['--device', 'Mac mini M4 16 GB', '--device', 'Desktop Ryzen 7 7700 32 GB + RTX 3060 12 GB'];
  const pinned = await hearthHere('plan', ...devices, '--model', 'Qwen3-8B', '--head', 'Mac mini M4 16 GB');
  assert.match(pinned.stdout, /^head +Mac mini M4 16 GB$/m);
  const free = await hearthHere('plan', ...devices, '--model', 'Qwen3-8B', '--save-cluster', saved);
  assert.match(free.stdout, /^head +Desktop Ryzen 7 7700 32 GB$/m);
  assert.is(JSON.parse(readFileSync(saved, 'utf8')).head, 'Desktop Ryzen 7 7700 32 GB');
});

test('mistakes end in one line', async () => {
  const messages = await Promise.all([
    plan('--model', 'Llama-3-7B'),
    plan('--mix', 'Q9'),
    plan('--save-plan', join(folder, 'x.json')),
    plan('--model', join(folder, 'none.gguf')),
    plan('--context', '0'),
    plan('--head', 'D9'),
  ]);
  for (const { code, stderr } of messages) {
    assert.is(code, 2);
    assert.is(stderr.trim().split('\n').length, 1, stderr);
  }
  assert.match(
    messages[0]?.stderr ?? '',
    /no model is called "Llama-3-7B"; nearest: Llama-3-8B, .*; for any other, .* --model-file$/m,
  );
  assert.match(messages[1]?.stderr ?? '', /Q9.*IQ4_XS/);
  assert.match(messages[5]?.stderr ?? '', /^--head: no device is called "D9"/);
});

test('machines of the catalogue make a cluster, which can be saved; unknown ones are refused in a line', async () => {
  const saved = join(folder, 'mine.json');
  const devices = ['--device', 'Mac mini M4 16 GB', '--device', 'Desktop Ryzen 7 7700 32 GB + RTX 3060 12 GB'];
  const run = await hearthHere('plan', ...devices, '--link', 'Ethernet 1 Gbit/s', '--save-cluster', saved);
  assert.is(run.code, 0, run.stderr);
  assert.match(run.stdout, /^Llama-3-8B Q4_K_M .* Desktop Ryzen 7 7700 32 GB\n +0\+32$/m);
  const again = await hearthHere('plan', '--cluster', saved);
  assert.is(again.stdout, run.stdout);
  for (const [options, message] of [
    [['--device', 'Mac mini M9'], /--device: the catalogue has no "Mac mini M9"/],
    [[...devices, '--link', 'Wi-Fi 9'], /did you mean "Wi-Fi/],
    [['--cluster', 'prima-home', ...devices], /use one of them/],
    [[], /--cluster: is missing/],
  ] as const) {
    const { code, stderr } = await hearthHere('plan', ...options);
    assert.is(code, 2);
    assert.match(stderr, message);
  }
  assert.match((await hearthHere('plan', '--devices')).stdout, /^gpu\n {2}GTX 1080 Ti 11 GB$/m);
  const { gpu } = JSON.parse((await hearthHere('plan', '--devices', '--json')).stdout);
  assert.is(gpu[0].name, 'GTX 1080 Ti 11 GB');
  assert.match(gpu[0].bandwidth.source, /^specification: /);
});

test.run();
