import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { planWithLayers } from '../../commands/gpu-layers.ts';
import { predict } from '../../engine/cost/predict.ts';
import { createCluster } from '../../engine/hardware/cluster.ts';
import type { Kernels } from '../../engine/kernels/kernels.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { isVector } from '../../engine/model/mix.ts';
import { expertBytes } from '../../engine/model/model.ts';
import { quantizedBytes } from '../../engine/model/quantization.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import type { SplitPlan } from '../../engine/plan/plan.ts';
import { openSplitModel } from '../../engine/runtime/split/split-transformer.ts';
import { simulate } from '../../simulator/simulate.ts';
import { goldenArchitecture, goldenArchitecturePath, hasGoldenArchitecture } from '../support/golden-architectures.ts';
import { GPU_KERNELS, GPU_MISSING } from '../support/gpu.ts';
import { oneMachine } from '../support/one-machine.ts';
import { nmse } from './nmse.ts';

/** Mixtures of unlike make, by their golden models. */
const MIXTURES = [
  'qwen3moe-F16',
  'gpt-oss-MXFP4', // biases of experts, and of the router
  'qwen2moe-F16', // a shared expert with a gate
  'deepseek2-mla-F16', // dense layers before, shared experts
  'gemma4-moe-F16', // a dense network next to the mixture
  'granitemoe-F16', // results that are scaled before they are added
  'nemotron-h-moe-F16', // experts without gate, in layers that mix no tokens
] as const;

const test = suite('experts on the CPU, all else on the GPU');
const missing = MIXTURES.filter((name) => !hasGoldenArchitecture(name));
if (missing.length > 0) console.log(`skipped: ${missing.join(', ')} (no shared folder of golden models)`);
if (GPU_MISSING !== undefined) console.log(`skipped: all with a GPU (${GPU_MISSING})`);

const gpu = GPU_KERNELS[0]?.kernels;
const native = openKernels({ implementation: 'native', threads: 2, exact: true });
test.after(() => native.close());

const CONTEXT = 128;

/** The layers whose experts a plan has on the CPU. */
const cpuExpertsOf = ({ stages }: SplitPlan): number[] =>
  stages.flatMap(({ from, cpuExperts = 0 }) => Array.from({ length: cpuExperts }, (_, index) => from + index));

function open(name: string, on: Kernels) {
  return openSplitModel(goldenArchitecturePath(name), { cpu: native, gpu: on, context: CONTEXT, kvCache: 'F32' });
}

for (const name of MIXTURES.filter(hasGoldenArchitecture))
  if (gpu !== undefined)
    test(`${name}: logits are those of double precision, for a prompt and for single tokens`, async () => {
      const { tokens, positions, reference } = goldenArchitecture(name);
      const split = open(name, gpu);
      const { model } = split;
      const mixtures = model.kinds.filter(({ feedForward }) => feedForward?.kind === 'experts').length;
      const all = planWithLayers(model, 'all', 'with-layers', 'all');
      const half = planWithLayers(model, 'all', 'with-layers', model.layers - Math.floor(mixtures / 2));
      assert.equal(cpuExpertsOf(all).length, model.layers);
      for (const plan of [all, half]) {
        const transformer = await split.on(plan);
        // The prompt up to the first known position, then parts, and the last four tokens one by one.
        const [first, ...others] = positions;
        const ends = [first as number, ...others.slice(0, -1), ...[60, 61, 62, 63]].map((last) => last + 1);
        let difference = 0;
        for (const end of ends.filter((to, index) => to > (ends[index - 1] ?? 0))) {
          const logits = await transformer.evaluate(tokens.slice(transformer.position, end));
          const known = positions.indexOf(end - 1);
          if (known >= 0)
            difference = Math.max(difference, nmse(logits, Float32Array.from(reference.logits[known] ?? [])));
        }
        assert.is(transformer.position, tokens.length);
        assert.ok(difference < 1e-5, `${cpuExpertsOf(plan).length} layers: ${difference}`);
      }
      split.close();
    });

/** Tokens that go on after a prompt, whose logits are those of the GPU alone. */
async function sameAsOnGpu(plan: (all: SplitPlan) => SplitPlan): Promise<void> {
  const { tokens } = goldenArchitecture('qwen2moe-F16');
  const split = open('qwen2moe-F16', gpu as Kernels);
  const whole = planWithLayers(split.model, 'all');
  const [expected, found] = [await split.on(whole), await split.on(plan(whole))];
  const compare = async (part: readonly number[], what: string): Promise<void> => {
    const logits = (await expected.evaluate(part)).slice();
    const error = nmse(await found.evaluate(part), logits);
    assert.ok(error < 1e-5, `${what}: ${error}`);
  };
  await compare(tokens.slice(0, 40), 'a prompt');
  for (const token of tokens.slice(40, 48)) await compare([token], `token ${token}`);
  for (const model of [expected, found]) model.rewind(20);
  await compare(tokens.slice(30, 33), 'after a rewind');
  split.close();
}

if (gpu !== undefined) {
  test('fewer layers on the GPU, some of them without experts, give the same logits, after a rewind too', async () => {
    await sameAsOnGpu(({ stages: [stage], ...plan }) => {
      const own = stage as SplitPlan['stages'][number];
      const cut = own.to - 2;
      return {
        ...plan,
        embedding: { ...plan.embedding, processor: 'cpu' },
        stages: [
          { ...own, processor: 'cpu', to: cut },
          { ...own, from: cut, cpuExperts: 1 },
        ],
      };
    });
  });

  test('keys and values in RAM give the same logits', async () => {
    await sameAsOnGpu(({ stages, ...plan }) => ({
      ...plan,
      kvCache: 'host',
      stages: stages.map((stage) => ({ ...stage, cpuExperts: stage.to })),
    }));
  });

  test('several sequences decode together as each alone, bit by bit', async () => {
    const { tokens } = goldenArchitecture('qwen3moe-F16');
    const split = open('qwen3moe-F16', gpu);
    const plan = planWithLayers(split.model, 'all', 'with-layers', 'all');
    const sequences = await split.sequences(plan, { pages: 64, pageTokens: 4, place: { folder: '', ram: Infinity } });
    const [one, other, lone] = [sequences.open(), sequences.open(), sequences.open()];
    const width = split.model.vocabularySize;
    await sequences.evaluate([{ sequence: lone, tokens: tokens.slice(0, 12), logits: 'last', multiplied: 'together' }]);
    await sequences.evaluate([
      { sequence: one, tokens: tokens.slice(0, 12), logits: 'last', multiplied: 'together' },
      { sequence: other, tokens: tokens.slice(20, 25), logits: 'last', multiplied: 'together' },
    ]);
    for (const token of tokens.slice(12, 16)) {
      const next = { tokens: [token], logits: 'last', multiplied: 'singly' } as const;
      const alone = (await sequences.evaluate([{ sequence: lone, ...next }])).slice();
      const together = await sequences.evaluate([
        { sequence: one, ...next },
        { sequence: other, ...next },
      ]);
      assert.equal(together.subarray(0, width), alone);
    }
    split.close();
  });
}

test('the matrices of experts on the CPU are not brought to the GPU', async () => {
  let bytes = 0;
  const counting: Kernels = {
    ...native,
    matrix(source) {
      bytes += quantizedBytes(source.rows * source.columns, source.type);
      return native.matrix(source);
    },
  };
  const split = open('qwen3moe-F16', counting);
  const { model } = split;
  const matrices = (layer: number, experts: boolean): number =>
    model.tensors
      .filter((tensor) => tensor.layer === layer && !isVector(tensor) && (experts || tensor.experts === undefined))
      .reduce((sum, tensor) => sum + tensor.bytes, 0);
  const numbers = Array.from({ length: model.layers }, (_, layer) => layer);
  const output = model.tensors.find(({ role }) => role === (model.tiedEmbeddings ? 'token_embd' : 'output'));
  await split.on(planWithLayers(model, 'all', 'with-layers', 2));
  assert.is(
    bytes,
    numbers.reduce((sum, layer) => sum + matrices(layer, layer >= 2), output?.bytes ?? 0),
  );
  // A plan without them brings those alone.
  await split.on(planWithLayers(model, 'all'));
  assert.is(
    bytes,
    numbers.reduce((sum, layer) => sum + matrices(layer, true), output?.bytes ?? 0),
  );
  split.close();
});

const modelOf = (name: string) => {
  const split = open(name, native);
  split.close();
  return split.model;
};

test('plans say how many of the GPU’s first layers have their experts on the CPU', () => {
  const model = modelOf('qwen3moe-F16');
  const { layers } = model;
  assert.is(planWithLayers(model, 1, 'with-layers', 'all').stages.at(-1)?.cpuExperts, 1);
  assert.is(planWithLayers(model, 'all', 'with-layers', 2).stages.at(-1)?.cpuExperts, 2);
  assert.is(planWithLayers(model, layers - 1, 'with-layers', 2).stages.at(-1)?.cpuExperts, 1);
  assert.is(expertBytes(model, 0, layers), model.layer.routed.reduce((sum, { bytes }) => sum + bytes, 0) * layers);
});

test('such plans are predicted, and simulated to the same time', () => {
  const model = modelOf('qwen3moe-F16');
  const plan = planWithLayers(model, 'all', 'with-layers', 'all');
  const machine = oneMachine();
  const cluster = createCluster({
    ...machine,
    devices: machine.devices.map((one) => ({ ...one, name: 'this machine' })),
  });
  const workload = createWorkload({ promptTokens: 4, outputTokens: 2, context: 5 });
  const { tokenSeconds } = predict({ plan, truth: cluster, model, workload });
  const { trace } = simulate({
    plan,
    cluster,
    model,
    workload,
    context: 'fixed',
    warm: true,
    reclaim: 'overflow',
    extentBytes: 1,
  });
  const last = trace.tokens.at(-1);
  assert.ok(Math.abs(((last?.end ?? 0) - (last?.start ?? 0)) / tokenSeconds - 1) < 1e-9);
});

test('models without experts, and layers that the GPU doesn’t have, are refused in a line', () => {
  const model = modelOf('qwen3moe-F16');
  const refused = (...options: Parameters<typeof planWithLayers>): string => {
    try {
      planWithLayers(...options);
    } catch (error) {
      return (error as Error).message;
    }
    return 'accepted';
  };
  const { layers, name } = model;
  assert.is(
    refused({ ...model, kinds: modelOf('smollm3-F16').kinds }, 'all', 'with-layers', 'all'),
    `--cpu-moe: ${name} has no experts; leave it out`,
  );
  assert.is(
    refused(model, 'all', 'with-layers', layers + 1),
    `--n-cpu-moe: ${layers + 1} of a model of ${layers} layers; allowed: 1 to ${layers}`,
  );
  assert.is(
    refused(model, 1, 'with-layers', 1),
    `--n-cpu-moe: the experts of the first 1 are not on the GPU anyway; allowed: ${layers} to ${layers}`,
  );
});

test.run();
