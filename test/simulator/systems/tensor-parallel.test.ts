import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { predict } from '../../../engine/cost/predict.ts';
import type { Cluster } from '../../../engine/hardware/cluster.ts';
import { parseCluster } from '../../../engine/hardware/parse-cluster.ts';
import { uniformShape } from '../../../engine/model/architecture.ts';
import { createModel } from '../../../engine/model/model.ts';
import { createWorkload } from '../../../engine/model/workload.ts';
import { createPlan } from '../../../engine/plan/create-plan.ts';
import type { Plan, TensorParallelPlan } from '../../../engine/plan/plan.ts';
import { simulate } from '../../../simulator/simulate.ts';
import { relativelyNear } from '../../support/near.ts';
import { TOY_RUNTIME, toyCluster, toyDevice, toyMemory, toyModel } from '../../support/toy-cluster.ts';

const MODEL = toyModel({ layers: 2 });
const WORKLOAD = createWorkload({ promptTokens: 1, outputTokens: 2, context: 10 });
const HEAD = { device: 'a', processor: 'cpu' } as const;

const cutPlan = (layers: number, shares: readonly number[], allReduce: TensorParallelPlan['allReduce']): Plan =>
  createPlan({
    scheduler: 'hand',
    rounds: 1,
    stages: [{ ...HEAD, from: 0, to: layers, cut: shares.map((share, at) => ({ device: 'abcd'[at] ?? '', share })) }],
    embedding: HEAD,
    output: HEAD,
    weights: {},
    kvCache: 'with-layers',
    allReduce,
  });

const run = (plan: Plan, cluster: Cluster, given: Partial<Parameters<typeof simulate>[0]> = {}) => {
  const parts = { plan, cluster, model: MODEL, workload: WORKLOAD, runtime: TOY_RUNTIME, context: 'fixed' } as const;
  return simulate({ ...parts, ...given });
};

const decoded = ({ trace }: ReturnType<typeof simulate>): number[] =>
  trace.tokens.filter(({ phase }) => phase === 'decode').map(({ start, end }) => end - start);

const AB = toyCluster([toyDevice('a'), toyDevice('b')]);

test('two devices and two layers take parts of 2.775 s, messages of 1 s and an output layer of 5.2 s', () => {
  const result = run(cutPlan(2, [0.5, 0.5], 'exchange'), AB);
  for (const seconds of decoded(result)) relativelyNear(seconds, 4 * 2.775 + 4 * 1 + 5.2);
  for (const seconds of decoded(run(cutPlan(2, [0.5, 0.5], 'star'), AB)))
    relativelyNear(seconds, 4 * 2.775 + 8 * 1 + 5.2);
});

test('the first token after a prompt has the expected spans', () => {
  const { trace } = run(cutPlan(2, [0.5, 0.5], 'exchange'), AB, { workload: { ...WORKLOAD, outputTokens: 1 } });
  const [, token] = trace.tokens;
  const begin = token?.start ?? 0;
  const starts = (device: string, lane: string, cause: string) =>
    trace.spans
      .filter((span) => span.device === device && span.lane === lane && span.cause === cause && span.start >= begin)
      .map(({ name, start }) => `${name} at ${(start - begin).toFixed(3)}`)
      .sort((left, right) => Number(left.split(' at ')[1]) - Number(right.split(' at ')[1]));
  assert.equal(starts('a', 'cpu', 'memory'), [
    'layer 0, attention at 0.000',
    'layer 0, feed-forward at 4.775',
    'layer 1, attention at 7.550',
    'layer 1, feed-forward at 12.325',
    'output layer at 15.100',
  ]);
  assert.equal(starts('b', 'cpu', 'memory'), [
    'layer 0, attention at 1.000',
    'layer 0, feed-forward at 3.775',
    'layer 1, attention at 8.550',
    'layer 1, feed-forward at 11.325',
  ]);
  assert.equal(starts('b', 'link', 'link'), ['to a at 3.775', 'to a at 6.550', 'to a at 11.325', 'to a at 14.100']);
  assert.is(trace.devices.map(({ name }) => name).join(), 'a,b');
});

test('on a shared medium messages wait for each other', () => {
  const devices = ['a', 'b', 'c'].map((name) => toyDevice(name));
  const shared = { ...toyCluster(devices), links: { ...toyCluster(devices).links, medium: 'shared' as const } };
  const third = 1 / 3;
  const plan = cutPlan(2, [third, third, third], 'star');
  // Each message occupies the medium for 0.5 s and arrives 0.5 s later; two that meet take 1 s for both.
  const part = 10 / 6 + 0.25 + 0.1 / 6;
  for (const seconds of decoded(run(plan, shared))) relativelyNear(seconds, 4 * (part + 2 * 1.5) + 5.2);
});

test('a prompt is one pass for all its tokens', () => {
  const { trace } = run(cutPlan(2, [0.5, 0.5], 'star'), AB, { workload: { ...WORKLOAD, promptTokens: 4 } });
  const [prefill] = trace.tokens;
  // A part for four tokens: weights once (1 s), their compute four times (3 · 4 / 4 s), attention over half the prompt
  // (4 · 4 · 10 · 2 · 5 = 1600 FLOPs, 1.6 / 4 s), 400 bytes of KV cache read (0.4 / 4 s) and appended (0.25 + 0.4 / 4 s).
  const part = 1 + 3 + 0.4 + 0.1 + 0.25 + 0.1;
  const message = 0.5 + 400 / 200;
  assert.is(prefill?.phase, 'prefill');
  relativelyNear((prefill?.end ?? 0) - (prefill?.start ?? 0), 4 * part + 8 * message + 5.2);
});

test('a KV cache that outgrows a memory ends the run', () => {
  const memory = toyMemory(5300 + 50); // room for one token more: 100 bytes per layer, half of two layers
  const cluster = toyCluster([toyDevice('a'), toyDevice('b', { memory })]);
  const plan = cutPlan(2, [0.5, 0.5], 'exchange');
  assert.equal(run(plan, cluster).outOfMemory, []);
  const [shortage] = run(plan, cluster, {
    memoryTaken: { b: [{ time: 30, bytes: 100 }] },
  }).outOfMemory;
  assert.is(shortage?.device, 'b');
  assert.is(shortage?.neededBytes, 5300);
  const [refused] = run(plan, toyCluster([toyDevice('a'), toyDevice('b', { memory: toyMemory(5299) })])).outOfMemory;
  assert.is(refused?.neededBytes, 5300);
});

test('if messages don’t collide the simulation equals the prediction for any cut among any devices', () => {
  const speed = fc.integer({ min: 1, max: 40 });
  const clusters = fc.record({
    devices: fc.array(fc.record({ compute: speed, bandwidth: speed, share: speed }), { minLength: 1, maxLength: 4 }),
    links: fc.array(fc.record({ latency: fc.integer({ min: 0, max: 20 }), bandwidth: speed }), {
      minLength: 6,
      maxLength: 6,
    }),
    layers: fc.integer({ min: 1, max: 4 }),
    allReduce: fc.constantFrom('exchange' as const, 'star' as const),
  });
  const property = fc.property(clusters, ({ devices, links, layers, allReduce }) => {
    const names = devices.map((_, index) => 'abcd'[index] ?? '');
    const pairs = names.flatMap((a, from) => names.slice(from + 1).map((b) => [a, b]));
    const cluster = parseCluster(
      JSON.stringify({
        name: 'random',
        devices: devices.map(({ compute, bandwidth }, index) => ({
          name: names[index],
          os: 'linux',
          memory: { total: '64 GiB' },
          cpu: { cores: 1, compute: `${compute} GFLOPS`, bandwidth: `${bandwidth} GB/s` },
          disk: { sequential: '1 GB/s' },
        })),
        links: {
          default: { latency: '1 ms', bandwidth: '1 Gbps' },
          pairs: pairs.map((between, index) => ({
            between,
            latency: `${links[index]?.latency} ms`,
            // In an exchange a part may end before its predecessor's message has left, unless links are fast.
            bandwidth:
              allReduce === 'star' ? `${links[index]?.bandwidth} Mbps` : `${40 + (links[index]?.bandwidth ?? 0)} Gbps`,
          })),
        },
      }),
      'random.json',
    );
    const sum = devices.reduce((total, { share }) => total + share, 0);
    const plan = cutPlan(
      layers,
      devices.map(({ share }) => share / sum),
      allReduce,
    );
    const model = createModel(uniformShape({ ...TOY_SHAPE, layers }), 'F16');
    const { tokenSeconds } = predict({ plan, truth: cluster, model, workload: WORKLOAD });
    const options = { cluster, model, plan, workload: WORKLOAD, context: 'fixed', record: 'tokens' } as const;
    for (const seconds of decoded(simulate(options))) relativelyNear(seconds, tokenSeconds);
  });
  fc.assert(property, { seed: 11, numRuns: 200 });
});

const TOY_SHAPE = {
  name: 'tiny',
  architecture: 'llama',
  hiddenSize: 256,
  ffnSize: 512,
  heads: 4,
  kvHeads: 4,
  headSize: 64,
  vocabularySize: 500,
  tiedEmbeddings: false,
  qkvBias: false,
} as const;

test.run();
