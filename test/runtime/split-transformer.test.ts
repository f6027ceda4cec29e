import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { withFile } from '../../engine/gguf/file-source.ts';
import { modelFromGguf } from '../../engine/gguf/model-from-gguf.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import { InputError } from '../../engine/input/input-error.ts';
import { randomStream } from '../../engine/input/random-stream.ts';
import { DeviceFailureError } from '../../engine/kernels/device-failure-error.ts';
import type { Kernels } from '../../engine/kernels/kernels.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { kvBytesPerToken } from '../../engine/model/kv-format.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import { DEFAULT_PAGING } from '../../engine/runtime/kv/gpu-pages.ts';
import { loadTransformer } from '../../engine/runtime/load/load-transformer.ts';
import { openSplitModel } from '../../engine/runtime/split/split-transformer.ts';
import { generate, type LanguageModel } from '../../engine/text/generate.ts';
import { createSampler, SAMPLER_DEFAULTS, type SamplerOptions } from '../../engine/text/sampling/sampler.ts';
import { goldenModel, readGolden } from '../support/golden-models.ts';
import { testChecks, testGpu } from '../support/gpu.ts';
import { GOLDEN_CHECKS, planOf } from './golden-checks.ts';
import { type MadeFile, madeFile } from './made-file.ts';
import { nmse } from './nmse.ts';
import { plainForward } from './plain-forward.ts';

const cpu = openKernels({ implementation: 'reference' });

const folder = mkdtempSync(join(tmpdir(), 'hearth-split-'));
test.after(() => rmSync(folder, { recursive: true }));

testChecks(GOLDEN_CHECKS);

/** The architectures without goldens; queries and keys of a qwen3 have norms, and its heads are wider than its hidden state. */
const FURTHER: readonly Pick<Required<MadeFile>, 'name' | 'shape'>[] = [
  { name: 'qwen3', shape: { architecture: 'qwen3', headSize: 48 } },
  { name: 'internlm2', shape: { architecture: 'internlm2' } },
];

for (const { name, shape } of FURTHER)
  testGpu(`${name}: CPU and GPU together give the logits of double precision`, async (gpu) => {
    const path = await madeFile({ folder, name, shape, mix: 'Q8_0' });
    const tokens = [3, 141, 59, 26, 53, 58, 97, 93];
    const expected = plainForward(path, tokens).at(-1) as number[];
    const { layers } = modelFromGguf(withFile(path, readGguf));
    for (const gpuLayers of [1, layers]) {
      const context = tokens.length;
      const model = await openSplitModel(path, { cpu, gpu, context, kvCache: 'F32' }).on(planOf(path, gpuLayers));
      await model.evaluate(tokens.slice(0, -1));
      const logits = await model.evaluate(tokens.slice(-1));
      assert.ok(nmse(logits, expected) < 1e-9, `${gpuLayers} layers: ${nmse(logits, expected)}`);
    }
  });

testGpu('a quantized cache on CPU and GPU gives the logits that it gives on the CPU alone', async (gpu) => {
  const { prompt_short: prompt } = readGolden('llama-Q8_0');
  const path = goldenModel('llama-Q8_0');
  const context = prompt.length;
  for (const kvCache of ['Q8_0', 'Q4_0'] as const) {
    const expected = loadTransformer(path, { kernels: cpu, context, kvCache }).evaluate(prompt);
    const model = await openSplitModel(path, { cpu, gpu, context, kvCache }).on(planOf(path, 1));
    const error = nmse(await model.evaluate(prompt), await expected);
    // A value between two steps may be rounded the other way, by a step of one among many.
    assert.ok(error < 1e-5, `${kvCache}: ${error}`);
  }
});

testGpu('after a rewind the same tokens give the same logits', async (gpu) => {
  const path = goldenModel('llama-Q8_0');
  const model = await openSplitModel(path, { cpu, gpu, context: 16 }).on(planOf(path, 1));
  await model.evaluate([1, 2, 3]);
  const first = (await model.evaluate([4])).slice();
  model.rewind(3);
  assert.equal(await model.evaluate([4]), first);
});

testGpu('more layers than the model has, and more tokens than the context, are refused', async (gpu) => {
  const path = goldenModel('llama-Q8_0');
  assert.throws(() => planOf(path, 3), /--gpu-layers: 3 of a model of 2 layers; allowed: 0 to 2, all, auto/);
  const model = await openSplitModel(path, { cpu, gpu, context: 2 }).on(planOf(path, 1));
  await model.evaluate([1, 2]).then(
    () => {},
    () => assert.unreachable(),
  );
  const error = await model.evaluate([3]).catch(({ message }: Error) => message);
  assert.is(error, 'context: 3 tokens don’t fit into 2; ask for a longer context');
});

for (const [where, place] of [
  ['in RAM', DEFAULT_PAGING.place],
  ['in RAM and in a file', { folder: tmpdir(), ram: 8192 }],
  ['in a file', { folder: tmpdir(), ram: 0 }],
] as const)
  testGpu(
    `with all but the newest page of the KV cache ${where}, text and logits are the same, after a rewind too`,
    async (gpu) => {
      const path = goldenModel('llama-Q8_0');
      const open = (kvCache: Plan['kvCache']) =>
        openSplitModel(path, {
          cpu,
          gpu,
          context: 40,
          kvCache: 'F32',
          paging: { ...DEFAULT_PAGING, pageTokens: 4, place },
        }).on(planOf(path, 2, kvCache));
      const [whole, paged] = [await open('with-layers'), await open('host')];
      const same = async (tokens: readonly number[], what: string): Promise<void> => {
        const expected = (await whole.evaluate(tokens)).slice();
        const found = await paged.evaluate(tokens);
        assert.ok(nmse(found, expected) < 1e-9, `${what}: ${nmse(found, expected)}`);
      };
      await same([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13], 'a prompt of four pages');
      for (let token = 20; token < 30; token++) await same([token], `token ${token}`);
      for (const model of [whole, paged]) model.rewind(6);
      await same([31, 32, 33], 'after a rewind into the second page');
    },
  );

test('a limit to the GPU’s memory that leaves no room says how many layers fit', async () => {
  const gpu = openKernels({ implementation: 'reference' });
  const path = goldenModel('llama-Q8_0');
  const model = modelFromGguf(withFile(path, readGguf));
  const { layer, output } = model;
  const slice = 4 * kvBytesPerToken(model.mean, 'F16');
  const open = (gpuMemory: number) =>
    openSplitModel(path, { cpu, gpu, context: 40, paging: { ...DEFAULT_PAGING, gpuMemory, pageTokens: 4 } }).on(
      planOf(path, 2, 'host'),
    );
  const least = output.bytes + 2 * layer.bytes + (2 + 2) * slice;
  assert.is((await open(least)).contextLength, 40);
  const refused = await open(least - 1).catch(({ message }: Error) => message);
  assert.match(String(refused), /^--gpu-memory: .* is too little: 2 layers need .*; 1 layer fits$/);
});

test('a GPU without memory for all layers says how many fit', async () => {
  const gpu = openKernels({ implementation: 'reference' });
  const path = goldenModel('llama-Q8_0');
  let matrices = 0;
  const full: Kernels = {
    ...gpu,
    matrix(source) {
      matrices++;
      return gpu.matrix(source);
    },
    // The output matrix and those of a layer fit.
    read: async () => {
      if (matrices > 1 + 7) throw new InputError('Small GPU', 'has no memory for a matrix of 1 GiB');
    },
  };
  const loaded: number[] = [];
  const error = await openSplitModel(path, { cpu, gpu: full, context: 16 })
    .on(planOf(path, 2), (layer) => loaded.push(layer))
    .catch(({ message }: Error) => message);
  assert.is(error, 'Small GPU: has no memory for a matrix of 1 GiB; 1 of 2 layers fit');
  assert.equal(loaded, [0]);
});

test('a GPU that is lost says how many layers it had, and what to do', async () => {
  const gpu = openKernels({ implementation: 'reference' });
  let lost = false;
  const failing: Kernels = {
    ...gpu,
    read: async () => {
      if (lost) throw new DeviceFailureError('Lost GPU', 'the device was lost; try again, with fewer layers on it');
    },
  };
  const path = goldenModel('llama-Q8_0');
  const model = await openSplitModel(path, { cpu, gpu: failing, context: 8 }).on(planOf(path, 1));
  await model.evaluate([1, 2]);
  lost = true;
  // A layer has 557,056 values in blocks of 34 bytes for 32, and two norms of 256 floats.
  const expected =
    'Lost GPU: the device was lost; try again, with fewer layers on it (it had 1 of 2, 580 KiB without their caches; ' +
    '--gpu-layers 0 halves that, and hearth profile measures how much memory is free)';
  assert.is(await model.evaluate([3]).catch(({ message }: Error) => message), expected);
  assert.is(await model.candidates?.([3], 1).catch(({ message }: Error) => message), expected);
});

testGpu('the same tokens are chosen from candidates of the GPU as from all logits, greedily and drawn', async (gpu) => {
  const path = goldenModel('llama-Q8_0');
  const bytes: number[] = [];
  const counting: Kernels = {
    ...gpu,
    read(vector) {
      bytes.push(vector.values.byteLength);
      return gpu.read(vector);
    },
  };
  const model = await openSplitModel(path, { cpu, gpu: counting, context: 32 }).on(planOf(path, 1));
  const { vocabularySize } = model.model;
  const write = async (of: LanguageModel, options: Partial<SamplerOptions>): Promise<readonly number[]> => {
    model.rewind(0);
    const sampler = createSampler({ ...SAMPLER_DEFAULTS, ...options }, randomStream(5, 'sampler'));
    const tokenizer = { bytesOf: () => new Uint8Array(), stops: new Set<number>() };
    return (await generate({ model: of, tokenizer, prompt: [1, 2, 3], tokens: 12, sampler })).tokens;
  };
  const whole: LanguageModel = { contextLength: 32, evaluate: (tokens) => model.evaluate(tokens) };
  for (const [options, numbers] of [
    [{ temperature: 0 }, 1 + 2 * 1],
    [{ temperature: 1, minP: 0, topP: 1 }, 1 + 2 * 40],
    [{ repeatPenalty: 1.1 }, vocabularySize],
  ] as const) {
    const expected = await write(whole, options);
    bytes.length = 0;
    assert.equal(await write(model, options), expected);
    assert.equal(new Set(bytes), new Set([4 * numbers]), JSON.stringify(options));
  }
  assert.equal(await model.candidates?.([4], vocabularySize + 1).then(({ length }) => length), vocabularySize);
});

testGpu('logits that are no numbers are noticed from candidates too', async (gpu) => {
  const path = goldenModel('llama-Q8_0');
  const broken: Kernels = {
    ...gpu,
    run(operations) {
      for (const operation of operations) {
        gpu.run([operation]);
        if (operation.kind !== 'multiply' || operation.matrix.rows !== vocabularySize) continue;
        // The least likely logit, which no one chooses.
        const last = operation.y.slice(vocabularySize - 1, vocabularySize);
        last.values[0] = Number.NEGATIVE_INFINITY;
        gpu.write(last);
      }
    },
  };
  const model = await openSplitModel(path, { cpu, gpu: broken, context: 8 }).on(planOf(path, 1));
  const { vocabularySize } = model.model;
  const refused = await model.candidates?.([1], 1).catch(({ message }: Error) => message);
  assert.match(String(refused), /the file’s weights give no numbers, though those of this file are finite/);
});

test('a GPU without the output gives no candidates', async () => {
  const path = goldenModel('llama-Q8_0');
  const gpu = openKernels({ implementation: 'reference' });
  const model = await openSplitModel(path, { cpu, gpu, context: 8 }).on({
    ...planOf(path, 1),
    output: { device: 'this machine', processor: 'cpu' },
  });
  assert.is(model.candidates, undefined);
});

test.run();
