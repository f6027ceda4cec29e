import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { totalSeconds } from '../../engine/cost/breakdown.ts';
import { predict } from '../../engine/cost/predict.ts';
import { cutMemory } from '../../engine/cost/tensor-parallel.ts';
import type { Device } from '../../engine/hardware/device.ts';
import { createPlan } from '../../engine/plan/create-plan.ts';
import type { Plan, TensorParallelPlan } from '../../engine/plan/plan.ts';
import { traceOfBreakdown } from '../../engine/trace/breakdown-trace.ts';
import { near } from '../support/near.ts';
import {
  TOY_MODEL,
  TOY_RUNTIME,
  TOY_WORKLOAD,
  toyCluster,
  toyDevice,
  toyMemory,
  toyModel,
} from '../support/toy-cluster.ts';

const MODEL = toyModel({ layers: 2 });
const HEAD = { device: 'a', processor: 'cpu' } as const;

/** Two layers cut among the devices a, b, c …; a message takes 1 s, the output layer 5.2 s. */
const cutPlan = (shares: readonly number[], allReduce?: TensorParallelPlan['allReduce']): Plan =>
  createPlan({
    scheduler: 'hand',
    rounds: 1,
    stages: [{ ...HEAD, from: 0, to: 2, cut: shares.map((share, index) => ({ device: 'abc'[index] ?? '', share })) }],
    embedding: HEAD,
    output: HEAD,
    weights: {},
    kvCache: 'with-layers',
    ...(allReduce && { allReduce }),
  });

const predictOn = (plan: Plan, devices: readonly Device[], model = MODEL) =>
  predict({ plan, truth: toyCluster(devices), model, workload: TOY_WORKLOAD, runtime: TOY_RUNTIME });

const [A, B, C] = ['a', 'b', 'c'].map((name) => toyDevice(name)) as [Device, Device, Device];

/**
 * Half of the attention or feed-forward part of a layer: (5 + 5) / 4 s of computing and loading, half of the latency of
 * 0.5 s for appending keys and values, and a quarter of the 0.1 s for their bytes: 2.775 s.
 */
test('two devices and two layers take the time computed by hand', () => {
  // After its own part, a device waits a message's time for the other's: four parts and four messages.
  const { tokenSeconds, seconds, infeasible } = predictOn(cutPlan([0.5, 0.5]), [A, B]);
  near(tokenSeconds, 4 * 2.775 + 4 * 1 + 5.2);
  near(seconds.compute, 4 * 1.25 + 2);
  near(seconds.memory, 4 * 1.25 + 3.2);
  near(seconds.kvCopy, 4 * 0.275);
  near(seconds.link, 4);
  assert.equal(infeasible, []);
});

test('an all-reduce through the root takes two messages, with one before the first and none after the last', () => {
  const { tokenSeconds, seconds } = predictOn(cutPlan([0.5, 0.5], 'star'), [A, B]);
  near(tokenSeconds, 4 * 2.775 + 8 * 1 + 5.2);
  near(seconds.link, 8);
});

test('three equal devices take c + 2L (t + c), or 2L (t + 2c) through the root', () => {
  const part = 10 / 6 + 0.25 + 0.1 / 6;
  const thirds = [1 / 3, 1 / 3, 1 / 3];
  near(predictOn(cutPlan(thirds), [A, B, C]).tokenSeconds, 1 + 4 * (part + 1) + 5.2);
  near(predictOn(cutPlan(thirds, 'star'), [A, B, C]).tokenSeconds, 4 * (part + 2) + 5.2);
});

test('a single device runs whole layers without messages', () => {
  near(predictOn(cutPlan([1]), [A]).tokenSeconds, 2 * 10.6 + 5.2);
});

test('a device off the critical path has no seconds', () => {
  // Three quarters take 0.375 · 10.1 + 0.25 = 4.0375 s; a quarter and two messages take 3.5125 s.
  const { tokenSeconds, devices, seconds } = predictOn(cutPlan([0.75, 0.25]), [A, B]);
  near(tokenSeconds, 4 * 4.0375 + 5.2);
  near(totalSeconds(devices[0]?.seconds ?? seconds), tokenSeconds);
  assert.is(totalSeconds(devices[1]?.seconds ?? seconds), 0);
  assert.is(seconds.link, 0);
});

test('the links of a far device set the pace', () => {
  const truth = toyCluster([A, B, C], { 'a-c': { latency: 9.5, bandwidth: 200 } });
  const thirds = [1 / 3, 1 / 3, 1 / 3];
  const plan = cutPlan(thirds, 'star');
  const part = 10 / 6 + 0.25 + 0.1 / 6;
  const prediction = predict({ plan, truth, model: MODEL, workload: TOY_WORKLOAD, runtime: TOY_RUNTIME });
  near(prediction.tokenSeconds, 4 * (part + 20) + 5.2);
  near(totalSeconds(prediction.devices[2]?.seconds ?? prediction.seconds), 4 * part + 7 * 10); // all but the first one-way trip
});

test('weights of a device can’t be paged, so an excess is out of memory', () => {
  // Half of 2 · (4000 + 1000) bytes and 300 of buffers; at the root the embedding and the output layer, too.
  const enough = predictOn(cutPlan([0.5, 0.5]), [
    { ...A, memory: toyMemory(28_300) },
    { ...B, memory: toyMemory(5300) },
  ]);
  assert.equal(enough.infeasible, []);
  assert.equal(
    enough.devices.map(({ ramBytes, nonReclaimableBytes, cpuLayers }) => [ramBytes, nonReclaimableBytes, cpuLayers]),
    [
      [28_300, 28_300, 1],
      [5300, 5300, 1],
    ],
  );
  const short = predictOn(cutPlan([0.5, 0.5]), [A, { ...B, memory: toyMemory(5299) }]);
  assert.equal(
    short.infeasible.map(({ device, memory, neededBytes, availableBytes }) => [
      device,
      memory,
      neededBytes,
      availableBytes,
    ]),
    [['b', 'ram', 5300, 5299]],
  );
  assert.match(short.infeasible[0]?.reason ?? '', /^b: parts of the weights, KV cache and buffers need /);
});

test('a device holds its share of layers and KV cache; the root also holds embedding and output', () => {
  const given = { model: TOY_MODEL, workload: { ...TOY_WORKLOAD, reservedContext: 20 }, runtime: TOY_RUNTIME };
  const quarter = { name: 'a', index: 0, share: 0.25 };
  assert.equal(cutMemory({ ...quarter, isRoot: true }, given), { weights: 4000 + 3000 + 20_000, fixed: 2000 + 300 });
  assert.equal(cutMemory({ ...quarter, isRoot: false }, given), { weights: 4000, fixed: 2000 + 300 });
});

test('a tied embedding is held once, and a phone swaps out other processes', () => {
  const { devices } = predictOn(cutPlan([1]), [A], { ...MODEL, tiedEmbeddings: true });
  assert.is(devices[0]?.ramBytes, 2 * 5000 + 300 + 3000);
  const memory = toyMemory(5000, { swappable: 400, swapFree: 300 });
  assert.is(predictOn(cutPlan([0.5, 0.5]), [A, { ...B, os: 'android', memory }]).infeasible.length, 0);
});

test('spans of the trace name their part of the layers', () => {
  const { spans } = traceOfBreakdown(predictOn(cutPlan([0.5, 0.5]), [A, B]));
  assert.equal([...new Set(spans.map(({ name }) => name))], ['50 % of layers 0–1', 'output']);
});

test('the roofline formulas refuse tensor-parallel plans', () => {
  const plan = cutPlan([1]);
  assert.throws(
    () => predict({ plan, truth: toyCluster([A]), model: MODEL, workload: TOY_WORKLOAD, formulas: 'roofline' }),
    /are cut or streamed, which the roofline formulas leave out: use the ring formulas$/,
  );
});

test.run();
