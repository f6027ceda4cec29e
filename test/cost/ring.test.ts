import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { totalSeconds } from '../../engine/cost/breakdown.ts';
import { deviceSeconds } from '../../engine/cost/device-seconds.ts';
import { predict } from '../../engine/cost/predict.ts';
import { createRingPredictor } from '../../engine/cost/ring.ts';
import { createRingCosts, type DeviceCosts } from '../../engine/cost/ring-costs.ts';
import { InputError } from '../../engine/input/input-error.ts';
import { createPlan } from '../../engine/plan/create-plan.ts';
import type { Plan, Stage } from '../../engine/plan/plan.ts';
import { ringPlan } from '../../engine/plan/ring-plan.ts';
import { near, relativelyNear } from '../support/near.ts';
import { type RandomPlan, randomPlans } from '../support/random-plan.ts';
import {
  TOY_MODEL,
  TOY_RUNTIME,
  TOY_WORKLOAD,
  toyCluster,
  toyDevice,
  toyGpu,
  toyMemory,
} from '../support/toy-cluster.ts';

const PC = toyDevice('pc', { gpu: toyGpu('cuda', 1e6) });
const PHONE = toyDevice('phone', { os: 'android' });
const OLD = toyDevice('old');

/** Predicts on the toy model of four layers; hops take 1 s. */
const predictOn = (plan: Plan, ...devices: Parameters<typeof toyCluster>[0]) =>
  predict({ plan, truth: toyCluster(devices), model: TOY_MODEL, workload: TOY_WORKLOAD, runtime: TOY_RUNTIME });

const handPlan = (head: string, rounds: number, stages: Stage[]): Plan =>
  createPlan({
    scheduler: 'hand',
    rounds,
    stages,
    embedding: { device: head, processor: 'cpu' },
    output: { device: head, processor: 'cpu' },
    weights: {},
    kvCache: 'with-layers',
  });

test('a relay between two devices costs both of its hops, and none on the return', () => {
  const stages: Stage[] = [
    { device: 'pc', processor: 'cpu', from: 0, to: 2 },
    { device: 'phone', processor: 'cpu', from: 2, to: 4 },
  ];
  const truth = toyCluster([PC, OLD, PHONE], { 'old-phone': { latency: 6.5, bandwidth: 200 } });
  const relays = [{ from: 'pc', to: 'phone', via: ['old'] }];
  const plan = createPlan({ ...handPlan('pc', 1, stages), relays });
  const parts = { truth, model: TOY_MODEL, workload: TOY_WORKLOAD, runtime: TOY_RUNTIME };
  const { seconds, devices } = predict({ plan, ...parts });
  near(seconds.link, 1 + 7 + 1); // to the relay, to the phone, and directly back
  assert.equal(
    devices.map(({ device }) => device),
    ['pc', 'phone'],
  );
  near(predict({ plan: handPlan('pc', 1, stages), ...parts }).seconds.link, 1 + 1);
});

test('the breakdown of a ring of two devices and two rounds equals the one computed by hand', () => {
  const windows = [
    { device: 'pc', layers: 1, gpuLayers: 1 },
    { device: 'phone', layers: 1, gpuLayers: 0 },
  ];
  const plan = ringPlan({ scheduler: 'hand', head: 'pc', rounds: 2, windows });
  const { seconds, devices, stages, tokenSeconds, reloadedBytes } = predictOn(plan, PC, PHONE);
  near(seconds.compute, 2 * 2 + 2 * 5 + 2); // two layers each at 2 s and 5 s, and the output layer
  near(seconds.memory, 2 * 1 + 2 * 5 + 3.2);
  near(seconds.kvCopy, 2 * 0.27 + 2 * 0.6);
  near(seconds.deviceCopy, 2 * 0.4); // two windows on the GPU
  near(seconds.disk, 2); // the row of the embedding, 200 bytes at 100 B/s
  near(seconds.link, 4); // there and back in both rounds
  assert.is(seconds.overhead, 0);
  near(tokenSeconds, 16 + 15.2 + 1.74 + 0.8 + 2 + 4);
  assert.is(reloadedBytes, 0);
  assert.equal(
    devices.map(({ device, windows, cpuLayers, gpuLayers }) => ({ device, windows, cpuLayers, gpuLayers })),
    [
      { device: 'pc', windows: 2, cpuLayers: 0, gpuLayers: 2 },
      { device: 'phone', windows: 2, cpuLayers: 2, gpuLayers: 0 },
    ],
  );
  assert.equal(
    stages.map(({ device, processor, layers, output }) => ({ device, processor, layers, output })),
    [
      { device: 'pc', processor: 'gpu', layers: 1, output: false },
      { device: 'phone', processor: 'cpu', layers: 1, output: false },
      { device: 'pc', processor: 'gpu', layers: 1, output: false },
      { device: 'phone', processor: 'cpu', layers: 1, output: false },
      { device: 'pc', processor: 'cpu', layers: 0, output: true },
    ],
  );
});

test('one device needs no link', () => {
  const plan = ringPlan({
    scheduler: 'hand',
    head: 'old',
    rounds: 1,
    windows: [{ device: 'old', layers: 4, gpuLayers: 0 }],
  });
  const { seconds, tokenSeconds } = predictOn(plan, OLD, PHONE);
  assert.is(seconds.link, 0);
  near(tokenSeconds, 4 * 10.6 + 5.2 + 2);
});

test('a head without layers forwards the token in every round and receives it at the end', () => {
  const windows = [
    { device: 'old', layers: 1, gpuLayers: 0 },
    { device: 'phone', layers: 1, gpuLayers: 0 },
  ];
  const plan = ringPlan({ scheduler: 'hand', head: 'pc', rounds: 2, windows });
  const { seconds, devices } = predictOn(plan, PC, OLD, PHONE);
  near(seconds.link, 2 * 3); // pc → old → phone → pc, in two rounds
  const linkOf = (name: string): number | undefined => devices.find(({ device }) => device === name)?.seconds.link;
  assert.equal([linkOf('pc'), linkOf('old'), linkOf('phone')], [2, 2, 2]);
});

test('a plan whose first window is not on the head sends the embedded token there', () => {
  const plan = handPlan('old', 1, [
    { device: 'phone', processor: 'cpu', from: 0, to: 2 },
    { device: 'old', processor: 'cpu', from: 2, to: 4 },
  ]);
  near(predictOn(plan, OLD, PHONE).seconds.link, 2); // old → phone → old
});

test('consecutive stages on the CPU and GPU of one device form one window', () => {
  const plan = handPlan('pc', 1, [
    { device: 'pc', processor: 'cpu', from: 0, to: 2 },
    { device: 'pc', processor: 'gpu', from: 2, to: 4 },
  ]);
  const { seconds, devices } = predictOn(plan, PC);
  assert.is(devices[0]?.windows, 1);
  near(seconds.deviceCopy, 0.4);
});

test('reloads are divided among the stages in RAM by their layers', () => {
  const pc = toyDevice('pc', { memory: toyMemory(15_500), gpu: toyGpu('cuda', 1e6) });
  const plan = handPlan('pc', 2, [
    { device: 'pc', processor: 'cpu', from: 0, to: 1 },
    { device: 'phone', processor: 'cpu', from: 1, to: 2 },
    { device: 'pc', processor: 'cpu', from: 2, to: 4 },
  ]);
  // 3 × 5000 + 300 + 3200 bytes, 3000 too many: 30 s
  const { stages, reloadedBytes, devices } = predictOn({ ...plan, rounds: 2 }, pc, PHONE);
  assert.equal(
    stages.map((stage) => stage.seconds.disk),
    [10, 0, 20, 0],
  );
  assert.is(reloadedBytes, 3000);
  assert.equal(
    [devices[0]?.ramBytes, devices[0]?.ramAvailable, devices[0]?.nonReclaimableBytes],
    [18_500, 15_500, 3300],
  );
});

test('an infeasible plan is described in bytes and in words', () => {
  const GIB = 2 ** 30;
  const pc = toyDevice('pc', { memory: toyMemory(2 * GIB), gpu: toyGpu('cuda', 1.5 * GIB) });
  const plan = handPlan('pc', 1, [
    { device: 'pc', processor: 'cpu', from: 0, to: 2 },
    { device: 'pc', processor: 'gpu', from: 2, to: 4 },
  ]);
  const { infeasible } = predict({
    plan,
    truth: toyCluster([pc]),
    model: { ...TOY_MODEL, layer: { ...TOY_MODEL.layer, bytes: GIB } },
    workload: TOY_WORKLOAD,
    runtime: { ...TOY_RUNTIME, cpuBufferBytes: 3 * GIB, gpuBufferBytes: 0 },
  });
  assert.equal(infeasible, [
    {
      device: 'pc',
      memory: 'vram',
      neededBytes: 2 * GIB + 2000,
      availableBytes: 1.5 * GIB,
      reason: 'pc: layers on the GPU need 2.00 GiB, 1.50 GiB are available',
    },
    {
      device: 'pc',
      memory: 'ram',
      neededBytes: 3 * GIB + 2000,
      availableBytes: 2 * GIB,
      reason: 'pc: KV cache and buffers need 3.00 GiB, 2.00 GiB are available',
    },
  ]);
});

test('predict refuses a plan with devices that the cluster lacks', () => {
  const plan = handPlan('pc', 1, [{ device: 'tablet', processor: 'cpu', from: 0, to: 4 }]);
  assert.throws(
    () => predictOn(plan, PC),
    (error: unknown) => error instanceof InputError && /stages\[0\]/.test(error.where),
  );
});

const planOf = ({ problem, rounds, windows, outputProcessor }: RandomPlan): Plan =>
  ringPlan({ scheduler: 'random', head: problem.belief.devices[0]?.name ?? '', rounds, windows, outputProcessor });

const predictRandom = ({ problem }: RandomPlan, plan: Plan) => {
  const { belief, model, workload, ...options } = problem;
  return createRingPredictor(belief, model, workload, options)(plan);
};

test('deviceSeconds is the sum of the breakdown without links, and infinite if a memory is exceeded', () => {
  let infeasibleDevices = 0;
  const property = fc.property(randomPlans(), (random) => {
    const { belief, model, workload, reclaim, runtime } = random.problem;
    const plan = planOf(random);
    const breakdown = predictRandom(random, plan);
    const costs = createRingCosts(belief, model, workload, runtime);
    for (const part of breakdown.devices) {
      const device = costs.devices.find(({ name }) => name === part.device) as DeviceCosts;
      const seconds = deviceSeconds(
        costs,
        device,
        {
          cpuLayers: part.cpuLayers,
          gpuLayers: part.gpuLayers,
          output: part.device === plan.output.device ? plan.output.processor : undefined,
          prefetches: plan.weights[part.device]?.prefetch === 'willneed',
          kvInRam: false,
        },
        part.windows,
        reclaim,
      );
      const short = breakdown.infeasible.some((shortage) => shortage.device === part.device);
      if (short) infeasibleDevices += 1;
      relativelyNear(seconds, short ? Number.POSITIVE_INFINITY : totalSeconds(part.seconds) - part.seconds.link, 1e-9);
    }
  });
  fc.assert(property, { numRuns: 1000, seed: 11 });
  assert.ok(infeasibleDevices > 100);
});

test('stages, devices and causes each add up to the token', () => {
  const property = fc.property(randomPlans(), (random) => {
    const { stages, devices, seconds, tokenSeconds } = predictRandom(random, planOf(random));
    const sum = (parts: readonly { seconds: typeof seconds }[]): number =>
      parts.reduce((total, part) => total + totalSeconds(part.seconds), 0);
    relativelyNear(sum(stages), tokenSeconds);
    relativelyNear(sum(devices), tokenSeconds);
    relativelyNear(totalSeconds(seconds), tokenSeconds);
  });
  fc.assert(property, { numRuns: 500, seed: 12 });
});

test('k = 1 dominates (Eq. 1): a plan regrouped into one round stays feasible and takes no longer', () => {
  let faster = 0;
  const property = fc.property(randomPlans(), (random) => {
    const inRounds = predictRandom(random, planOf(random));
    const windows = random.windows.map(({ device, layers, gpuLayers }) => ({
      device,
      layers: layers * random.rounds,
      gpuLayers: gpuLayers * random.rounds,
    }));
    const atOnce = predictRandom(random, planOf({ ...random, rounds: 1, windows }));
    assert.is(atOnce.infeasible.length, inRounds.infeasible.length);
    assert.ok(atOnce.tokenSeconds <= inRounds.tokenSeconds * (1 + 1e-12));
    if (atOnce.tokenSeconds < inRounds.tokenSeconds * 0.999) faster += 1;
  });
  fc.assert(property, { numRuns: 1000, seed: 13 });
  assert.ok(faster > 50);
});

test.run();
