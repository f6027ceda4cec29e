import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { planAutomatically, planWithLayers } from '../../commands/gpu-layers.ts';
import { createModel } from '../../engine/model/model.ts';
import { clusterFile } from '../../engine/profile/cluster-file.ts';
import type { MachineProfile } from '../../engine/profile/profile-machine.ts';
import { GPU, PROFILE } from '../profile/measures.ts';
import { goldenArchitecturePath } from '../support/golden-architectures.ts';
import { goldenModel } from '../support/golden-models.ts';
import { testGpu } from '../support/gpu.ts';
import { QWEN3_8B } from '../support/one-machine.ts';
import { runScript } from '../support/run-script.ts';

const MODEL = createModel(QWEN3_8B, 'Q4_K_M');
const GIB = 2 ** 30;

let folder = '';
test.before(() => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-gpu-layers-'));
});
test.after(() => rmSync(folder, { recursive: true }));

/** The plan for a machine with a CPU of 10 GB/s and this GPU, and what was logged. */
async function automatic(gpu: MachineProfile['gpu']) {
  const profile = join(folder, 'profile.json');
  writeFileSync(profile, clusterFile({ ...PROFILE, gpu }));
  const lines: string[] = [];
  const plan = await planAutomatically({
    ...{
      model: MODEL,
      file: 'm.gguf',
      context: 512,
      promptTokens: 16,
      kvFormat: 'F16',
      threads: 2,
      gpu: 'Test GPU',
      paging: undefined,
      profile,
    },
    ...{ signal: new AbortController().signal, log: (line: string) => void lines.push(line) },
  });
  const onGpu = plan?.stages.reduce((sum, { processor, from, to }) => sum + (processor === 'gpu' ? to - from : 0), 0);
  return { onGpu, kvCache: plan?.kvCache, line: lines.join() };
}

/** A GPU that takes so many times as long as the CPU for products of one token, with 3 GiB. */
const timesAsLong = (factor: number) => ({
  ...GPU,
  processor: {
    ...GPU.processor,
    vectorProducts: new Map(
      [...GPU.processor.vectorProducts].map(([type, one]) => [type, { ...one, median: factor * one.median }]),
    ),
    smallPass: {
      shallow: { median: 0.625e-3, spread: 0, repeats: 7 },
      deep: { median: 2e-3, spread: 0, repeats: 7 },
    },
  },
  memory: { bytes: 3 * GIB, rule: 'as much as could be allocated' },
});

test('auto puts as many layers on a faster GPU as it has room for, with their KV cache', async () => {
  const { onGpu = 0, kvCache, line } = await automatic(timesAsLong(0.1));
  // A layer has 121 MiB and 2 MiB of cache for 512 tokens; the output 487 MiB; buffers 256 MiB.
  assert.is(onGpu, Math.floor((3 * GIB - 256 * 2 ** 20 - MODEL.output.bytes) / (MODEL.layer.bytes + 2 * 2 ** 20)));
  assert.is(kvCache, 'with-layers');
  assert.match(line, new RegExp(`^auto: ${onGpu} layers on the GPU \\(predicted .* on the CPU alone .*\\)$`));
});

test('auto leaves a model on the CPU if the GPU is no faster', async () => {
  const { onGpu, line } = await automatic(timesAsLong(1));
  assert.is(onGpu, undefined);
  assert.match(line, /^auto: no layers on the GPU/);
});

test('auto asks for the GPU in a profile that has none', async () => {
  const error = await automatic(undefined).catch(({ message }: Error) => message);
  assert.match(String(error), /profile\.json: has no GPU; measure it: hearth profile --device <name>$/);
});

test('a number of layers puts the last ones and the output on the GPU', () => {
  const { stages, embedding, output } = planWithLayers(MODEL, 10);
  assert.equal(
    stages.map(({ processor, from, to }) => [processor, from, to]),
    [
      ['cpu', 0, 26],
      ['gpu', 26, 36],
    ],
  );
  assert.equal([embedding.processor, output.processor], ['cpu', 'gpu']);
  assert.throws(
    () => planWithLayers(MODEL, 37),
    /--gpu-layers: 37 of a model of 36 layers; allowed: 0 to 36, all, auto/,
  );
});

testGpu('hearth inspect --devices lists the GPU, and generate takes it by a part of its name', async () => {
  const listed = await runScript('bin/hearth.js', 'inspect', '--devices', '--json');
  const [gpu] = JSON.parse(listed.stdout);
  assert.ok(gpu.name.length > 3 && gpu.backend.length > 3, listed.stdout);
  const generate = (device: string) =>
    runScript(
      'bin/hearth.js',
      ...['generate', '--model', goldenModel('llama-Q8_0'), '--prompt', 'a', '--tokens', '2'],
      ...['--gpu-layers', '1', '--device', device],
    );
  const found = await generate(gpu.name.slice(1, 8));
  assert.is(found.code, 0, found.stderr);
  assert.ok(found.stderr.includes(`1 of 2 layers on ${gpu.name}`), found.stderr);
  const missing = await generate('no such GPU');
  assert.is(missing.code, 2);
  assert.is(missing.stderr, `--device: no GPU is called "no such GPU"; there is "${gpu.name}"\n`);
});

testGpu('hearth generate leaves experts on the CPU, and says how much of them; a dense model has none', async () => {
  const generate = (name: string) =>
    runScript(
      'bin/hearth.js',
      ...['generate', '--model', goldenArchitecturePath(name), '--prompt', 'a', '--tokens', '2'],
      ...['--gpu-layers', 'all', '--n-cpu-moe', '2'],
    );
  const found = await generate('qwen3moe-F16');
  assert.is(found.code, 0, found.stderr);
  // Eight experts of three matrices of 48 × 40 halves, in each of two layers.
  assert.match(found.stderr, /^3 of 3 layers on .*, with 180 KiB of their experts on the CPU\n/);
  const dense = await generate('smollm3-F16');
  assert.is(dense.code, 2);
  assert.match(dense.stderr, /^--n-cpu-moe: .* has no experts; leave it out\n$/);
});

test.run();
