import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  createHelmModel,
  createNamedModel,
  loadCatalogue,
  loadCluster,
  loadPublished,
} from '../../../datasets/load.ts';
import { findPublished, publishedSeconds } from '../../../datasets/published.ts';
import { predict } from '../../../engine/cost/predict.ts';
import type { Device } from '../../../engine/hardware/device.ts';
import { createWorkload } from '../../../engine/model/workload.ts';
import { type Plan, planShares } from '../../../engine/plan/plan.ts';
import { validatePlan } from '../../../engine/plan/validate-plan.ts';
import { exo } from '../../../engine/schedule/baselines/exo.ts';
import { layerStreaming } from '../../../engine/schedule/baselines/layer-streaming.ts';
import { cuttableHeads, tensorParallel } from '../../../engine/schedule/baselines/tensor-parallel.ts';
import { vllm } from '../../../engine/schedule/baselines/vllm.ts';
import type { Scheduled, SchedulingProblem } from '../../../engine/schedule/scheduler.ts';
import {
  TOY_CPU,
  TOY_MODEL,
  TOY_RUNTIME,
  TOY_WORKLOAD,
  toyCluster,
  toyDevice,
  toyGpu,
  toyMemory,
  toyModel,
} from '../../support/toy-cluster.ts';

const problem = (devices: readonly Device[], model = TOY_MODEL): SchedulingProblem => ({
  belief: toyCluster(devices),
  model,
  workload: TOY_WORKLOAD,
  runtime: TOY_RUNTIME,
});

/** The plan, checked on the cluster that it was made for. */
function planOf({ plan }: Scheduled, { belief, model }: SchedulingProblem): Plan {
  assert.ok(plan);
  validatePlan(plan as Plan, belief, model);
  return plan as Plan;
}

const cutOf = (plan: Plan) =>
  plan.kind === 'tensor-parallel' ? plan.stages[0].cut.map(({ device, share }) => [device, share]) : undefined;

test('devices share the KV heads of the layer with the fewest; latent and recurrent layers are not cut', () => {
  const headsOf = (name: string): number => cuttableHeads(createNamedModel(loadCatalogue(), name));
  assert.equal(
    ['Qwen3-8B', 'Gemma-3-4B', 'DeepSeek-V3', 'LFM2-1.2B', 'Nemotron-3-Nano-30B-A3B'].map(headsOf),
    [8, 4, 1, 1, 1],
  );
});

test('dllama cuts evenly among 2^n devices: the head and those with the most memory', () => {
  const sizes = { a: 100, b: 5000, c: 7000, d: 6000, e: 9000 };
  const devices = Object.entries(sizes).map(([name, bytes]) => toyDevice(name, { memory: toyMemory(bytes) }));
  const among = (count: number, model = TOY_MODEL) => {
    const given = problem(devices.slice(0, count), model);
    return cutOf(planOf(tensorParallel(given), given));
  };
  assert.equal(among(1), [['a', 1]]);
  assert.equal(among(3), [
    ['a', 0.5],
    ['c', 0.5],
  ]);
  assert.equal(among(5), [
    ['a', 0.25],
    ['c', 0.25],
    ['d', 0.25],
    ['e', 0.25],
  ]);
  assert.equal(among(5, toyModel({ kvHeads: 2 })), [
    ['a', 0.5],
    ['e', 0.5],
  ]);
});

test('a proportional cut assigns whole heads by speed, with at least one to the root', () => {
  const slow = { ...TOY_CPU, bandwidth: 100, kvCopyLatency: 200 };
  const shares = (...cpus: Device['cpu'][]) => {
    const given = problem(cpus.map((cpu, index) => toyDevice('abcd'[index] ?? '', { cpu })));
    return cutOf(planOf(tensorParallel(given, { shares: 'proportional' }), given));
  };
  assert.equal(shares(TOY_CPU, TOY_CPU), [
    ['a', 0.6],
    ['b', 0.4],
  ]);
  // 10.6 s a layer against 256 s: the slow device's share of five heads is less than half a head, and only the root
  // must have one.
  assert.equal(shares(TOY_CPU, slow), [['a', 1]]);
  assert.equal(shares(slow, TOY_CPU), [
    ['a', 0.2],
    ['b', 0.8],
  ]);
});

test('exo divides layers by installed memory, on accelerators only, without phones, with resident weights', () => {
  const gib = 2 ** 30;
  const devices = [
    toyDevice('phone', { os: 'android', memory: toyMemory(1e6) }),
    toyDevice('D1', { os: 'macos', memory: { ...toyMemory(1e6), total: 8 * gib } }),
    toyDevice('D2', { gpu: withMemory(8 * gib) }),
    toyDevice('D3', { gpu: withMemory(11 * gib) }),
  ];
  const given = problem(devices, toyModel({ layers: 32 }));
  const plan = planOf(exo(given), given);
  assert.equal(
    planShares(plan).map(({ device, cpuLayers, gpuLayers }) => [device, cpuLayers, gpuLayers]),
    [
      ['D1', 9, 0],
      ['D2', 0, 10],
      ['D3', 0, 13],
    ],
  ); // prima.cpp 4.1
  assert.is(plan.embedding.device, 'D1');
  assert.equal(plan.weights, {
    D1: { prefetch: 'none', release: 'pinned', pinned: 9 * 4000 + 3000 + 200 },
  });
});

function withMemory(total: number): Device['gpu'] {
  const gpu = toyGpu('cuda', 1e6);
  return { ...gpu, memory: { ...gpu.memory, total } } as Device['gpu'];
}

test('exo has no plan for phones only', () => {
  assert.is(exo(problem([toyDevice('phone', { os: 'android' })])).plan, undefined);
});

test('ZeRO-Inference streams every layer ahead; Accelerate streams those that its map leaves in RAM in turn', () => {
  const given = (vram: number, ram = 1e6) =>
    problem([toyDevice('pc', { gpu: toyGpu('cuda', vram), memory: toyMemory(ram) })]);
  const parts = (variant: 'zero-inference' | 'accelerate', vram: number) => {
    const { stages, output, embedding } = planOf(layerStreaming(given(vram), { variant }), given(vram));
    return [
      ...stages.map(({ from, to, streamed }) => `${from}-${to} ${streamed ?? 'resident'}`),
      `output ${output.streamed ?? 'resident'}`,
      `embedding ${embedding.processor}`,
    ];
  };
  assert.equal(parts('zero-inference', 23_200), ['0-4 ahead', 'output resident', 'embedding cpu']);
  assert.equal(parts('accelerate', 50_000), ['0-4 resident', 'output resident', 'embedding gpu']);
  // 0.9 of 40,000: the embedding of 20,000, three layers of 4000, and room for one.
  assert.equal(parts('accelerate', 40_000), ['0-3 resident', '3-4 in-turn', 'output in-turn', 'embedding gpu']);
  assert.equal(parts('accelerate', 10_000), ['0-4 in-turn', 'output in-turn', 'embedding cpu']);
  const small = layerStreaming(given(10_000, 30_000), { variant: 'accelerate' });
  assert.is(small.plan === undefined && small.reason, 'fits-nowhere');
});

test('layers can’t be streamed without a GPU with its own memory', () => {
  const scheduled = layerStreaming(problem([toyDevice('mac', { os: 'macos', gpu: toyGpu('metal', 1e6) })]), {
    variant: 'accelerate',
  });
  assert.is(scheduled.plan, undefined);
  assert.is(scheduled.plan === undefined && scheduled.reason, 'needs-gpu');
});

const CELLS = loadPublished();
const CATALOGUE = loadCatalogue();
const CLUSTERS = ['prima-home', 'prima-a4', 'prima-a5'];

const predictionOf = (cluster: string, name: string, scheduler: (given: SchedulingProblem) => Scheduled) => {
  const [truth, model, workload] = [loadCluster(cluster), createNamedModel(CATALOGUE, name), createWorkload()];
  const given = { belief: truth, model, workload };
  return predict({ plan: planOf(scheduler(given), given), truth, model, workload });
};

test('70B is out of memory for dllama and exo wherever prima.cpp says so (Tables 4, 7, 8)', () => {
  for (const cluster of CLUSTERS) {
    for (const [system, scheduler] of [['dllama', tensorParallel] as const, ['exo', exo] as const]) {
      const [cell] = findPublished(CELLS, { cluster, model: 'Llama-3-70B', system, metric: 'tpot' });
      assert.is(cell?.value, 'OOM');
      assert.ok(predictionOf(cluster, 'Llama-3-70B', scheduler).infeasible.length > 0, `${system} on ${cluster}`);
    }
  }
});

test('8B runs with dllama wherever prima.cpp ran it, but the predictions are too fast', () => {
  for (const cluster of CLUSTERS) {
    const [cell] = findPublished(CELLS, { cluster, model: 'Llama-3-8B', system: 'dllama', metric: 'tpot' });
    const { tokenSeconds, infeasible } = predictionOf(cluster, 'Llama-3-8B', tensorParallel);
    assert.equal(infeasible, []);
    assert.ok(cell && tokenSeconds < (publishedSeconds(cell) as number), cluster);
  }
});

test('Accelerate runs where HELM ran it and has no plan where it failed (Table 6.1)', () => {
  const conflicts: string[] = [];
  for (const cluster of ['helm-4060', 'helm-3090', 'helm-l40s']) {
    for (const model of ['Qwen3-4B', 'Qwen3-8B', 'Qwen3-14B', 'Qwen3-32B']) {
      const [cell] = findPublished(CELLS, { cluster, model, system: 'accelerate', metric: 'throughput' });
      const given = {
        belief: loadCluster(cluster),
        model: createHelmModel(CATALOGUE, model),
        workload: createWorkload(),
      };
      const fails = layerStreaming(given, { variant: 'accelerate' }).plan === undefined;
      if (fails !== (cell?.value === 'failed')) conflicts.push(`${model} on ${cluster}`);
    }
  }
  assert.equal(conflicts, []);
});

test('64 all-reduces of 8B over Wi-Fi take more than 192 ms (prima.cpp 4.1)', () => {
  assert.ok(predictionOf('prima-home', 'Llama-3-8B', tensorParallel).seconds.link > 0.192);
});

test('vLLM needs weights, embedding and KV cache in 90 % of the VRAM: 19,000 + 20,000 + 4 × 1000 bytes', () => {
  const withVram = (total: number, available = total) => {
    const gpu = { ...toyGpu('cuda', available), memory: { total, available } };
    return problem([toyDevice('pc', { gpu })]);
  };
  // 43,000 bytes and a buffer of 200 are 90% of 48,000.
  const fits = withVram(48_000);
  const plan = planOf(vllm(fits), fits);
  assert.equal([plan.stages.length, plan.embedding.processor, plan.output.processor], [1, 'gpu', 'gpu']);
  const scarce = vllm(withVram(47_999));
  assert.is(scarce.plan, undefined);
  assert.match(scarce.plan === undefined ? scarce.message : '', /out of memory: .* on pc’s GPU/);
  assert.is(vllm(withVram(1e6, 43_199)).plan, undefined);
  const none = vllm(problem([toyDevice('pc')]));
  assert.is(none.plan === undefined && none.reason, 'needs-gpu');
});

test.run();
