import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { predict } from '../../engine/cost/predict.ts';
import { type Cluster, createCluster } from '../../engine/hardware/cluster.ts';
import { reloadRate } from '../../engine/hardware/device.ts';
import type { Model } from '../../engine/model/model.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import { createPlan } from '../../engine/plan/create-plan.ts';
import { ringPlan } from '../../engine/plan/ring-plan.ts';
import { simulate } from '../../simulator/simulate.ts';
import { LAB_MODEL, labCluster, labPlan, NO_BUFFERS } from '../support/lab.ts';
import { relativelyNear } from '../support/near.ts';
import { randomPlans } from '../support/random-plan.ts';
import { TOY_MODEL, TOY_RUNTIME, toyCluster, toyDevice } from '../support/toy-cluster.ts';

const WORKLOAD = createWorkload({ promptTokens: 1, outputTokens: 3, context: 0 });

/** Seconds of every decoded token. */
function decoded(result: ReturnType<typeof simulate>): number[] {
  return result.trace.tokens.filter(({ phase }) => phase === 'decode').map(({ start, end }) => end - start);
}

test('without overlap the simulation equals the prediction on four devices that reload', () => {
  const truth = labCluster({ limit: '640 MiB', disk: '400 MB/s' });
  const plan = labPlan({ rounds: 1, prefetch: 'none' });
  const parts = { plan, model: LAB_MODEL, workload: WORKLOAD, runtime: NO_BUFFERS };
  const { tokenSeconds } = predict({ ...parts, truth });
  const simulated = simulate({ ...parts, cluster: truth, context: 'fixed', reclaim: 'overflow', extentBytes: 1 });
  for (const seconds of decoded(simulated)) assert.ok(Math.abs(seconds - tokenSeconds) < 1e-9 * tokenSeconds);
});

test('without overlap the simulation equals the prediction for any plan on any devices', () => {
  let compared = 0;
  let reloading = 0;
  const property = fc.property(randomPlans(), ({ problem, rounds, windows, outputProcessor }) => {
    const { belief, model, workload, runtime } = problem;
    const head = belief.devices[0]?.name ?? '';
    const plan = ringPlan({ scheduler: 'random', head, rounds, windows, outputProcessor, prefetch: 'none' });
    const asked = { ...workload, promptTokens: 1, outputTokens: 3 };
    const prediction = predict({ plan, truth: belief, model, workload: asked, runtime });
    const options = { context: 'fixed', reclaim: 'overflow', extentBytes: EXTENT, runtime } as const;
    const result = simulate({ cluster: belief, model, plan, workload: asked, ...options });
    assert.is(result.outOfMemory.length, prediction.infeasible.length);
    if (prediction.infeasible.length > 0) return;
    compared += 1;
    if (prediction.reloadedBytes > 0) reloading += 1;
    // The cache drops whole extents, and layers end within them: the tolerance is one or two extents per layer.
    const slack = bytesOfSlack(belief, model) + 1e-9 * prediction.tokenSeconds;
    const last = decoded(result).at(-1) as number;
    assert.ok(Math.abs(last - prediction.tokenSeconds) <= slack, `${last} and ${prediction.tokenSeconds}`);
  });
  fc.assert(property, { seed: 5, numRuns: 300 });
  assert.ok(compared > 100 && reloading > 30, `${compared} compared, ${reloading} with reloads`);
});

test('without spans a run has fewer steps and identical tokens', () => {
  let onGpus = 0;
  const property = fc.property(randomPlans(), fc.constantFrom(0, 0.1), ({ problem, ...parts }, noise) => {
    const { belief, model, workload, runtime } = problem;
    const plan = ringPlan({ scheduler: 'random', head: belief.devices[0]?.name ?? '', ...parts, prefetch: 'willneed' });
    const asked = { ...workload, promptTokens: 1, outputTokens: 3 };
    const common = { cluster: belief, model, plan, workload: asked, runtime, noise, extentBytes: 64 * EXTENT } as const;
    const [tokens, spans] = (['tokens', 'spans'] as const).map((record) => simulate({ ...common, record }).trace);
    assert.equal(tokens?.tokens, spans?.tokens);
    assert.is(tokens?.spans.length, 0);
    if (plan.stages.some(({ processor }) => processor === 'gpu') && tokens?.tokens.length === 4) onGpus += 1;
  });
  fc.assert(property, { seed: 7, numRuns: 40 });
  assert.ok(onGpus > 5, `${onGpus} plans with layers on GPUs`);
});

test('a run can end before its last token', () => {
  const cluster = labCluster({ limit: '640 MiB', disk: '400 MB/s' });
  const ring = labPlan({ rounds: 1, prefetch: 'none' });
  const share = 1 / cluster.devices.length;
  const cut = cluster.devices.map(({ name }) => ({ device: name, share }));
  const whole = {
    ...ring.stages[0],
    device: ring.output.device,
    processor: 'cpu',
    from: 0,
    to: LAB_MODEL.layers,
  } as const;
  const roomy = labCluster({ limit: '1500 MiB', disk: '400 MB/s' });
  for (const [truth, plan] of [
    [cluster, ring],
    [roomy, createPlan({ ...ring, weights: {}, stages: [{ ...whole, cut }] })],
  ] as const) {
    const parts = {
      cluster: truth,
      model: LAB_MODEL,
      plan,
      workload: { ...WORKLOAD, outputTokens: 5 },
      runtime: NO_BUFFERS,
    };
    const all = simulate(parts).trace.tokens;
    assert.is(all.length, 6);
    const seen: number[] = [];
    const isEnough = ({ length }: readonly unknown[]): boolean => seen.push(length) === 3;
    assert.equal(simulate({ ...parts, isEnough }).trace.tokens, all.slice(0, 4));
    assert.equal(seen, [2, 3, 4]); // the prompt is counted but not passed to the callback
  }
});

test('relays forward the token in the predicted seconds of their links', () => {
  const cluster = toyCluster(
    ['a', 'b', 'c', 'd'].map((name) => toyDevice(name)),
    { 'a-b': { latency: 2, bandwidth: 200 }, 'b-c': { latency: 4, bandwidth: 200 } },
  );
  const windows = ['a', 'c'].map((device) => ({ device, layers: 1, gpuLayers: 0 }));
  const plan = createPlan({
    ...ringPlan({ scheduler: 'hand', head: 'a', rounds: 2, windows, prefetch: 'none' }),
    relays: [
      { from: 'a', to: 'c', via: ['b'] },
      { from: 'c', to: 'a', via: ['d'] },
    ],
  });
  const parts = { plan, model: TOY_MODEL, workload: { ...WORKLOAD, context: 10 }, runtime: TOY_RUNTIME };
  const { tokenSeconds, seconds } = predict({ ...parts, truth: cluster });
  relativelyNear(seconds.link, 2 * (2.5 + 4.5) + 2 * (1 + 1)); // through b, and back through d
  const result = simulate({ ...parts, cluster, context: 'fixed', reclaim: 'overflow', extentBytes: 1 });
  for (const one of decoded(result)) relativelyNear(one, tokenSeconds);
  assert.equal(
    result.trace.devices.map(({ name, lanes }) => [name, lanes.length]),
    [
      ['a', 3],
      ['b', 1],
      ['c', 3],
      ['d', 1],
    ],
  );
});

/** Small compared with the random models' layers of half a megabyte. */
const EXTENT = 64;

function bytesOfSlack({ devices }: Cluster, { layers }: Model): number {
  return devices.reduce((sum, device) => sum + ((2 * layers + 4) * EXTENT) / reloadRate(device), 0);
}

test('a slower disk never makes a plan faster under `overflow`, with or without prefetching', () => {
  let slower = 0;
  const cases = fc.record({
    random: randomPlans(),
    prefetches: fc.boolean(),
    slowdown: fc.double({ min: 1, max: 9, noNaN: true }),
  });
  const property = fc.property(cases, ({ random, prefetches, slowdown }) => {
    const { belief, model, workload, runtime } = random.problem;
    const plan = ringPlan({
      ...random,
      scheduler: 'random',
      head: belief.devices[0]?.name ?? '',
      prefetch: prefetches ? 'willneed' : 'none',
    });
    const slow = createCluster({
      ...belief,
      devices: belief.devices.map((device) => ({
        ...device,
        disk: { sequential: device.disk.sequential / slowdown, random: device.disk.random / slowdown },
      })),
    });
    const seconds = (cluster: Cluster): number => {
      const asked = { ...workload, promptTokens: 1, outputTokens: 3 };
      const options = { context: 'fixed', reclaim: 'overflow', runtime, extentBytes: 4096, record: 'tokens' } as const;
      return simulate({ cluster, model, plan, workload: asked, ...options }).seconds;
    };
    const [before, after] = [seconds(belief), seconds(slow)];
    assert.ok(after >= before * (1 - 1e-9), `${before} s, with disks ${slowdown} times slower ${after} s`);
    if (after > before * 1.1) slower += 1;
  });
  fc.assert(property, { seed: 6, numRuns: 300 });
  assert.ok(slower > 50, `${slower} became slower`);
});

test('the trace is determined by the seed, including noise, jitter and loss', () => {
  const links = { default: { latency: 1e-3, bandwidth: 1e8, jitter: 1e-3, loss: 0.05 }, pairs: new Map() };
  const cluster = createCluster({ ...labCluster({ limit: '640 MiB', disk: '400 MB/s' }), links });
  const parts = { cluster, model: LAB_MODEL, plan: labPlan({ rounds: 4, prefetch: 'populate' }), workload: WORKLOAD };
  const trace = (seed: number): string => JSON.stringify(simulate({ ...parts, runtime: NO_BUFFERS, noise: 0.1, seed }));
  assert.is(trace(1), trace(1));
  assert.is.not(trace(1), trace(2));
});

test('a KV cache that grows beyond the memory is out of memory, with device and bytes', () => {
  const cluster = labCluster({ limit: '640 MiB', disk: '400 MB/s' });
  const workload = createWorkload({ promptTokens: 100_000, outputTokens: 1 });
  const result = simulate({
    cluster,
    model: LAB_MODEL,
    plan: labPlan({ rounds: 1, prefetch: 'none' }),
    workload,
    runtime: NO_BUFFERS,
  });
  assert.is(result.outOfMemory.length, 4);
  assert.match(
    result.outOfMemory[0]?.reason ?? '',
    /^d0: KV cache and buffers need 6\.\d\d GiB, 0\.63 GiB are available$/,
  );
  assert.equal(result.trace.tokens, []);
});

test('no processor or link runs two things at once, and prefetching overlaps with other devices', () => {
  const cluster = labCluster({ limit: '640 MiB', disk: '400 MB/s' });
  const plan = labPlan({ rounds: 4, prefetch: 'populate' });
  const { trace } = simulate({ cluster, model: LAB_MODEL, plan, workload: WORKLOAD, runtime: NO_BUFFERS });
  for (const lane of ['cpu', 'link'] as const) {
    const spans = trace.spans.filter((span) => span.lane === lane).sort((a, b) => a.start - b.start);
    for (const [index, span] of spans.entries()) {
      assert.ok(index === 0 || span.start >= (spans[index - 1]?.end ?? 0) - 1e-12, `${lane} at ${span.start}`);
    }
  }
  const prefetches = trace.spans.filter(({ name }) => name === 'prefetch');
  const overlapped = prefetches.some((one) =>
    prefetches.some((other) => other.device !== one.device && other.start < one.end && one.start < other.end),
  );
  assert.ok(overlapped);
});

test('in a device’s own file its windows are adjacent, so that readahead past one serves the next', () => {
  const cluster = labCluster({ limit: '640 MiB', disk: '400 MB/s' });
  const plan = labPlan({ rounds: 4, prefetch: 'none' });
  const reclaim = { name: 'linux-two-list', readAhead: 8 * 2 ** 20 } as const;
  const parts = { cluster, plan, model: LAB_MODEL, workload: WORKLOAD, runtime: NO_BUFFERS, reclaim };
  const bytes = (files: 'whole' | 'own'): number => {
    const { devices } = simulate({ ...parts, files });
    return devices.reduce((sum, { faultedBytes }) => sum + faultedBytes, 0);
  };
  const weights = 4 * 32 * LAB_MODEL.layer.bytes; // of all devices, read for the prompt and three tokens
  assert.ok(bytes('whole') > 1.03 * weights, `${bytes('whole') / weights}`);
  assert.ok(Math.abs(bytes('own') / weights - 1) < 0.02, `${bytes('own') / weights}`);
});

test.run();
