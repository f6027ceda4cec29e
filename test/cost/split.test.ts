import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Breakdown } from '../../engine/cost/breakdown.ts';
import { predict } from '../../engine/cost/predict.ts';
import { createSplitPredictor, type SplitPredictionOptions } from '../../engine/cost/split.ts';
import { type Cluster, createCluster } from '../../engine/hardware/cluster.ts';
import { InputError } from '../../engine/input/input-error.ts';
import { createModel } from '../../engine/model/model.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import { createPlan, type PlanParts } from '../../engine/plan/create-plan.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import { relativelyNear } from '../support/near.ts';
import { type Machine, oneMachine, QWEN3_8B } from '../support/one-machine.ts';

const model = createModel(QWEN3_8B, 'BF16');

/** HELM 4.1.3 and Table 6.5: embedding and 20 blocks on the CPU, 16 blocks and the head on the GPU. */
const RUNNING_EXAMPLE: Plan = createPlan({
  scheduler: 'hand',
  rounds: 1,
  stages: [
    { device: 'PC', processor: 'cpu', from: 0, to: 20 },
    { device: 'PC', processor: 'gpu', from: 20, to: 36 },
  ],
  embedding: { device: 'PC', processor: 'cpu' },
  output: { device: 'PC', processor: 'gpu' },
  weights: {},
  kvCache: 'host',
});

interface Case {
  readonly machine?: Machine;
  readonly cluster?: Cluster;
  readonly plan?: Partial<PlanParts>;
  readonly context?: number;
  readonly batch?: number;
  readonly options?: SplitPredictionOptions;
}

function roofline({ machine, cluster, plan, context = 0, batch = 1, options = {} }: Case = {}): Breakdown {
  return predict({
    plan: createPlan({ ...RUNNING_EXAMPLE, ...plan }),
    truth: cluster ?? oneMachine(machine),
    model,
    workload: createWorkload({ context, batch }),
    formulas: 'roofline',
    ...options,
  });
}

test('the running example takes 205.5 ms: 20 × 8.575 + 16 × 1.770 + 5.71 ms + 5.5 µs', () => {
  const { tokenSeconds, stages, infeasible } = roofline();
  const [cpu, gpu, head] = stages.map((stage) => stage.seconds);
  relativelyNear(cpu?.memory ?? 0, (20 * 385_892_864) / 45e9);
  relativelyNear(gpu?.memory ?? 0, (16 * 385_892_864) / 218e9);
  relativelyNear(head?.memory ?? 0, (2 * 151936 * 4096 + 2 * 4096) / 218e9);
  relativelyNear(gpu?.deviceCopy ?? 0, 5e-6 + 8192 / 16e9);
  assert.is((1000 * tokenSeconds).toFixed(1), '205.5');
  assert.equal(infeasible, []);
});

test('at 4096 tokens the KV cache adds 6.48 ms on the CPU, 7.5% of it at L3 speed, and 1.23 ms on the GPU', () => {
  const { stages } = roofline({ context: 4096 });
  const idle = roofline().stages;
  // CPU: 20 × 16 MiB, of which 24 MiB lie in the L3: 0.075 × 135 + 0.925 × 45 = 51.75 GB/s.
  relativelyNear((stages[0]?.seconds.memory ?? 0) - (idle[0]?.seconds.memory ?? 0), (320 * 2 ** 20) / 51.75e9);
  relativelyNear((stages[1]?.seconds.memory ?? 0) - (idle[1]?.seconds.memory ?? 0), (256 * 2 ** 20) / 218e9);
});

test('a batch of 4 costs four times the KV bytes and the activation, and no more weights', () => {
  const { tokenSeconds } = roofline({ context: 4096, batch: 4 });
  // CPU: 80 × 16 MiB, α = 24 / 1280 = 0.01875, M̂ = 0.01875 × 135 + 0.98125 × 45 = 46.6875 GB/s.
  const kv = (1280 * 2 ** 20) / 46.6875e9 + (1024 * 2 ** 20) / 218e9;
  relativelyNear(tokenSeconds, roofline().tokenSeconds + kv + (3 * 8192) / 16e9);
});

test('the breakdown names device, layers and bytes: 8.96 GB in RAM, 7.42 GB in VRAM', () => {
  const [device] = roofline({ context: 100 }).devices;
  assert.is(device?.cpuLayers, 20);
  assert.is(device?.gpuLayers, 16);
  assert.is(device?.vramBytes, 16 * 385_892_864 + 1_244_667_904);
  // KV offload: all 36 blocks' cache lies in RAM.
  assert.is(device?.nonReclaimableBytes, 36 * 100 * 4096);
  assert.is(device?.ramBytes, 20 * 385_892_864 + 1_244_659_712 + 36 * 100 * 4096);
});

test('without KV offload the GPU blocks keep their cache in VRAM (Eq. 4.16)', () => {
  const [device] = roofline({ context: 100, plan: { kvCache: 'with-layers' } }).devices;
  assert.is(device?.vramBytes, 16 * 385_892_864 + 1_244_667_904 + 16 * 100 * 4096);
  assert.is(device?.nonReclaimableBytes, 20 * 100 * 4096);
});

test('a plan fits to the byte, and one byte less is a shortage of VRAM', () => {
  const needed = 16 * 385_892_864 + 1_244_667_904;
  assert.equal(roofline({ machine: { vram: needed } }).infeasible, []);
  assert.equal(roofline({ machine: { vram: needed - 1 } }).infeasible, [
    {
      device: 'PC',
      memory: 'vram',
      neededBytes: needed,
      availableBytes: needed - 1,
      reason: 'PC: layers on the GPU need 7.42 GB, 7.42 GB are available',
    },
  ]);
  const withCache = roofline({ machine: { vram: needed }, plan: { kvCache: 'with-layers' }, context: 1 });
  assert.is(withCache.infeasible[0]?.neededBytes, needed + 16 * 4096);
});

test('a CPU part that exceeds the RAM is a shortage of RAM', () => {
  const { infeasible } = roofline({ machine: { ram: 8e9 } });
  assert.is(infeasible.length, 1);
  assert.is(infeasible[0]?.memory, 'ram');
  assert.is(infeasible[0]?.reason, 'PC: layers on the CPU and the KV cache need 8.96 GB, 8.00 GB are available');
});

test('buffers of the runtime take from RAM and VRAM, and its values set the size of the copy', () => {
  const runtime = { cpuBufferBytes: 1e9, gpuBufferBytes: 0.2e9, activationBytes: 4 };
  const { devices, infeasible, seconds } = roofline({ options: { runtime } });
  assert.is(devices[0]?.vramAvailable, 7.3e9);
  assert.is(devices[0]?.nonReclaimableBytes, 1e9);
  assert.is(infeasible[0]?.memory, 'vram');
  relativelyNear(seconds.deviceCopy, 5e-6 + 16_384 / 16e9);
});

test('the overhead is δ̄ for every block on either processor: 36 × 0.14 ms', () => {
  const { seconds, tokenSeconds } = roofline({ options: { overhead: 'per-block' } });
  relativelyNear(seconds.overhead, 36 * 0.14e-3);
  relativelyNear(tokenSeconds, roofline().tokenSeconds + 36 * 0.14e-3);
});

test('options reach the formulas: half the bandwidth doubles the memory time', () => {
  relativelyNear(roofline({ options: { memoryEfficiency: 0.5 } }).seconds.memory, 2 * roofline().seconds.memory);
  const { seconds } = roofline({ machine: { flops: 1e9 }, options: { decodeCompute: 'measured' } });
  // 36 blocks of 385,875,968 FLOPs and a head of 2 × 151936 × 4096 at 1 GFLOP/s; without context nothing else.
  relativelyNear(seconds.compute, (36 * 385_875_968 + 2 * 151936 * 4096) / 1e9);
  assert.is(seconds.memory, 0);
});

test('every change of processor from the embedding to the output costs a copy', () => {
  const copy = 5e-6 + 8192 / 16e9;
  const all = [{ device: 'PC', processor: 'gpu', from: 0, to: 36 }] as const;
  const gpu = { device: 'PC', processor: 'gpu' } as const;
  const cpu = { device: 'PC', processor: 'cpu' } as const;
  const copies = (plan: Partial<Plan>): number => roofline({ plan }).seconds.deviceCopy;
  assert.is(copies({ stages: all, embedding: gpu, output: gpu }), 0);
  relativelyNear(copies({ stages: all, embedding: cpu, output: gpu }), copy);
  relativelyNear(copies({ stages: all, embedding: cpu, output: cpu }), 2 * copy);
  const backwards: Plan['stages'] = [
    { device: 'PC', processor: 'gpu', from: 0, to: 16 },
    { device: 'PC', processor: 'cpu', from: 16, to: 36 },
  ];
  relativelyNear(copies({ stages: backwards, embedding: gpu, output: cpu }), copy);
  relativelyNear(copies({ stages: backwards, embedding: cpu, output: gpu }), 3 * copy);
});

test('a GPU that shares the RAM needs no copies, and its part counts against both memories', () => {
  const { seconds, devices } = roofline({ machine: { gpu: 'unified' }, context: 100 });
  assert.is(seconds.deviceCopy, 0);
  assert.is(devices[0]?.ramBytes, 36 * 385_892_864 + 1_244_659_712 + 1_244_667_904 + 36 * 100 * 4096);
  assert.is(devices[0]?.vramBytes, 16 * 385_892_864 + 1_244_667_904);
});

test('a GPU that shares the RAM pins its KV cache and buffers there', () => {
  const [device] = roofline({
    machine: { gpu: 'unified' },
    context: 100,
    plan: { kvCache: 'with-layers' },
    options: { runtime: { cpuBufferBytes: 1000, gpuBufferBytes: 20, activationBytes: 2 } },
  }).devices;
  assert.is(device?.nonReclaimableBytes, 36 * 100 * 4096 + 1020);
});

test('a tied matrix is held once if embedding and output are on one processor', () => {
  const tied = createModel({ ...QWEN3_8B, tiedEmbeddings: true }, 'BF16');
  const bytes = (embedding: 'cpu' | 'gpu'): number | undefined => {
    const plan = { ...RUNNING_EXAMPLE, embedding: { device: 'PC', processor: embedding } };
    return createSplitPredictor(oneMachine(), tied, createWorkload())(plan).devices[0]?.vramBytes;
  };
  assert.is(bytes('gpu'), bytes('cpu'));
});

test('a machine without a GPU runs a plan on its CPU without overhead', () => {
  const cpu = { device: 'PC', processor: 'cpu' } as const;
  const { tokenSeconds, infeasible } = roofline({
    machine: { gpu: 'none', ram: 20e9 },
    plan: { stages: [{ ...cpu, from: 0, to: 36 }], output: cpu },
    options: { overhead: 'per-block' },
  });
  relativelyNear(tokenSeconds, (36 * 385_892_864 + 1_244_667_904) / 45e9);
  assert.equal(infeasible, []);
});

test('between two devices activations leave a GPU, cross the network and enter a GPU', () => {
  const first = oneMachine().devices[0];
  assert.ok(first);
  const cluster = createCluster({ ...oneMachine(), devices: [first, { ...first, name: 'laptop' }] });
  const stages: Plan['stages'] = [
    { device: 'PC', processor: 'cpu', from: 0, to: 20 },
    { device: 'laptop', processor: 'gpu', from: 20, to: 36 },
  ];
  const { tokenSeconds, seconds, devices } = roofline({ cluster, plan: { stages } });
  // 8 KiB: into the laptop's GPU and out of it, and into the GPU of the PC, which has the output; there and back at 1 GB/s.
  relativelyNear(seconds.deviceCopy, 3 * (5e-6 + 8192 / 16e9));
  relativelyNear(seconds.link, 2 * (8192 / 1e9));
  relativelyNear(tokenSeconds, roofline().tokenSeconds + 2 * (5e-6 + 8192 / 16e9) + 2 * (8192 / 1e9));
  assert.equal(
    devices.map(({ device, cpuLayers, gpuLayers }) => [device, cpuLayers, gpuLayers]),
    [
      ['PC', 20, 0],
      ['laptop', 0, 16],
    ],
  );
  assert.throws(
    () => roofline({ cluster, plan: { rounds: 2, stages: [...stages.slice(0, 1), ...alternating(stages)] } }),
    /plan: rounds: is 2; the roofline formulas are for one/,
  );
});

/** Stages on PC, laptop, PC for 36 layers. */
function alternating([, laptop]: Plan['stages']): Plan['stages'] {
  assert.ok(laptop);
  return [
    { ...laptop, to: 28 },
    { device: 'PC', processor: 'cpu', from: 28, to: 36 },
  ];
}

test('predict checks the plan, and uses the ring formulas by default', () => {
  assert.throws(
    () => roofline({ plan: { stages: RUNNING_EXAMPLE.stages.slice(0, 1) } }),
    (error: unknown) => error instanceof InputError && /hold 20 layers; Qwen3-8B has 36/.test(error.message),
  );
  const workload = createWorkload({ context: 0 });
  const ring = predict({ plan: RUNNING_EXAMPLE, truth: oneMachine(), model, workload });
  assert.ok(ring.seconds.compute > 0); // sums compute and memory, where the roofline takes the larger
});

test('dividing a stage in two changes nothing', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 19 }), fc.integer({ min: 0, max: 8192 }), (cut, context) => {
      const [cpu, gpu] = RUNNING_EXAMPLE.stages;
      assert.ok(cpu && gpu);
      const whole = roofline({ context });
      const halves = roofline({ context, plan: { stages: [{ ...cpu, to: cut }, { ...cpu, from: cut }, gpu] } });
      relativelyNear(halves.tokenSeconds, whole.tokenSeconds);
      assert.equal(halves.devices[0]?.ramBytes, whole.devices[0]?.ramBytes);
    }),
    { seed: 1, numRuns: 50 },
  );
});

test('the token takes the sum of its stages, and RAM and VRAM hold every byte of weights and cache', () => {
  const places = fc.constantFrom('cpu' as const, 'gpu' as const);
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 35 }), places, places, fc.boolean(), (cut, embedding, output, offload) => {
      const { tokenSeconds, stages, devices } = roofline({
        context: 500,
        plan: {
          stages: [
            { device: 'PC', processor: 'cpu', from: 0, to: cut },
            { device: 'PC', processor: 'gpu', from: cut, to: 36 },
          ],
          embedding: { device: 'PC', processor: embedding },
          output: { device: 'PC', processor: output },
          kvCache: offload ? 'host' : 'with-layers',
        },
      });
      const sum = stages.flatMap((stage) => Object.values(stage.seconds)).reduce((a, b) => a + b, 0);
      relativelyNear(tokenSeconds, sum);
      assert.is((devices[0]?.ramBytes ?? 0) + (devices[0]?.vramBytes ?? 0), model.bytes + 36 * 500 * 4096);
    }),
    { seed: 2, numRuns: 100 },
  );
});

test.run();
