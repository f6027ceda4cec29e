import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createCluster } from '../../engine/hardware/cluster.ts';
import { InputError } from '../../engine/input/input-error.ts';
import { createWorkload, type Workload } from '../../engine/model/workload.ts';
import { ringPlan } from '../../engine/plan/ring-plan.ts';
import type { Moment } from '../../simulator/observer.ts';
import type { SimulationOptions } from '../../simulator/options.ts';
import { simulate } from '../../simulator/simulate.ts';
import { near } from '../support/near.ts';
import { TOY_MODEL, TOY_RUNTIME, toyCluster, toyDevice, toyMemory } from '../support/toy-cluster.ts';

/** Layers of 4000 bytes, 100 bytes of KV cache per token and layer, 300 bytes of buffers; the disk reads 100 B/s. */
function run(available: number, options: SimulationOptions = {}, asked: Partial<Workload> = {}) {
  const cluster = toyCluster([toyDevice('a', { memory: toyMemory(available) })]);
  const windows = [{ device: 'a', layers: 4, gpuLayers: 0 }];
  const plan = ringPlan({ scheduler: 'hand', head: 'a', rounds: 1, windows, prefetch: 'none' });
  const workload = createWorkload({ promptTokens: 1, outputTokens: 3, context: 10, ...asked });
  const common = { cluster, model: TOY_MODEL, plan, workload, runtime: TOY_RUNTIME, context: 'fixed' as const };
  return simulate({ ...common, extentBytes: 100, reclaim: 'overflow', ...options });
}

const decoded = (result: ReturnType<typeof run>): number[] =>
  result.trace.tokens.filter(({ phase }) => phase === 'decode').map(({ start, end }) => end - start);

test('memory reserved for the KV cache is not available for weights, even if it is empty', () => {
  // 4 × 4000 + 3000 + 200 bytes of weights, 300 of buffers, 100 of KV cache per layer and token: 10 of 30 tokens are there.
  const tight = 4 * 4000 + 3000 + 200 + 300 + 4 * 3000;
  const seconds = (available: number, reservedContext: number) =>
    decoded(run(available, {}, { reservedContext })).at(-1) ?? 0;
  near(seconds(tight, 30), 49.6);
  near(seconds(tight - 1000, 30), 49.6 + 8); // 1000 bytes are missing at 100 B/s; 200 of them, the row, are read again anyway
  near(seconds(tight - 8000, 10), 49.6);
});

test('weights displaced by other apps are reloaded for every later token', () => {
  const before = decoded(run(1e6));
  // Everything fits: 4 × 10.6 s, 5.2 s for the output layer, 2 s for the looked-up row of 200 bytes.
  for (const seconds of before) assert.ok(Math.abs(seconds - 49.6) < 1e-9, `${seconds} s`);
  const prefill = run(1e6).trace.tokens[0]?.end ?? 0;
  // 4 × 4000 + 3000 + 200 bytes of weights, 4 × 1000 of KV cache and 300 of buffers: 23,500; 20,000 are left.
  const taken = { a: [{ time: prefill + 60, bytes: 1e6 - 20_000 }] };
  const after = decoded(run(1e6, { memoryTaken: taken }));
  assert.ok(Math.abs((after[0] ?? 0) - 49.6) < 1e-9);
  assert.ok((after[1] ?? 0) > 50);
  // The overflow of 3500 bytes, which holds the looked-up row, at 100 B/s.
  assert.ok(Math.abs((after[2] ?? 0) - (49.6 - 2 + 35)) < 3, `${after[2]} s`);
});

test('a run ends when memory runs out, with device and bytes', () => {
  const prefill = run(1e6).trace.tokens[0]?.end ?? 0;
  const result = run(1e6, { memoryTaken: { a: [{ time: prefill + 60, bytes: 1e6 - 4000 }] } });
  assert.is(result.outOfMemory.length, 1);
  assert.is(result.outOfMemory[0]?.neededBytes, 4300);
  assert.is(result.outOfMemory[0]?.availableBytes, 4000);
  assert.is(decoded(result).length, 1);
  assert.is(result.seconds, prefill + 60);
});

test('noise scales each computation by a factor of mean 1 that depends on the seed', () => {
  const seconds = (seed: number): number => (decoded(run(1e6, { noise: 0.1, seed }))[0] ?? 0) - 2;
  assert.is(seconds(3), seconds(3));
  assert.is.not(seconds(3), seconds(4));
  const all = Array.from({ length: 500 }, (_, seed) => seconds(seed));
  const mean = all.reduce((sum, one) => sum + one, 0) / all.length;
  const deviation = Math.sqrt(all.reduce((sum, one) => sum + (one - mean) ** 2, 0) / all.length);
  assert.ok(Math.abs(mean / 47.6 - 1) < 0.01, `${mean} s`);
  // Four layers of 10.6 s and an output layer of 5.2 s vary by a tenth each.
  assert.ok(Math.abs(deviation / (0.1 * Math.sqrt(4 * 10.6 ** 2 + 5.2 ** 2)) - 1) < 0.1, `${deviation} s`);
});

test('a waiting computation is a span with cause disk on its processor, as long as the read', () => {
  const { trace } = run(1e6);
  const waits = trace.spans.filter(({ lane, cause }) => lane === 'cpu' && cause === 'disk');
  assert.equal(
    waits.map(({ name, start, end }) => [name, Math.round(end - start)]),
    [
      ['waits for layer 0', 40],
      ['waits for layer 1', 40],
      ['waits for layer 2', 40],
      ['waits for layer 3', 40],
      ['waits for output layer', 30],
    ],
  );
});

test('resident bytes are sampled at every change', () => {
  const { counters } = run(1e6).trace;
  const values = counters[0]?.samples.map(({ value }) => value) ?? [];
  assert.is(counters[0]?.name, 'resident weights (bytes)');
  // The row that a token looks up is released at once.
  assert.equal(values.slice(0, 7), [0, 200, 4000, 8000, 12_000, 16_000, 19_000]);
});

test('an observer sees the resident layers at every step', () => {
  const seen: string[] = [];
  const observe = ({ event, layer, residency }: Moment): void => {
    const resident = [...residency()].filter(([, share]) => share === 1).map(([index]) => index);
    seen.push(`${event} ${layer ?? ''}: ${resident.join(' ')}`);
  };
  run(1e6, { observe });
  // The row that a token looks up, then the layer.
  const expected = [
    'read : ',
    'read : 0',
    'layer 0: 0',
    'computed 0: 0',
    'read : 0 1',
    'layer 1: 0 1',
    'computed 1: 0 1',
  ];
  assert.equal(seen.slice(0, 7), expected);
});

test('the memory pressure is KV cache, buffers and pinned weights over installed memory', () => {
  const [device] = run(1e6).devices;
  assert.is(device?.nonReclaimableBytes, 4300);
  assert.is(device?.memoryTotal, 1e6);
});

const REFUSED: readonly [what: string, options: SimulationOptions, message: RegExp][] = [
  ['an unknown policy', { reclaim: 'linus' as 'os' }, /^reclaim: unknown "linus"; did you mean "linux"/],
  ['noise that is not a number', { noise: Number.NaN }, /^noise: NaN is not a relative deviation from 0 to 1$/],
  ['extents of no bytes', { extentBytes: 0 }, /^extentBytes: 0 is not a whole number of bytes$/],
  ['chunks without end', { chunkBytes: Number.POSITIVE_INFINITY }, /^chunkBytes: Infinity is not a number of bytes$/],
  ['memory taken on nobody', { memoryTaken: { b: [] } }, /^memoryTaken: no device is called "b"/],
  [
    'times that go back',
    {
      memoryTaken: {
        a: [
          { time: 2, bytes: 1 },
          { time: 1, bytes: 1 },
        ],
      },
    },
    /^memoryTaken\.a\[1\]\.time: 1 is not seconds, in ascending order$/,
  ],
];

for (const [what, options, message] of REFUSED) {
  test(`${what} is refused in one line`, () => {
    try {
      run(1e6, options);
      assert.unreachable();
    } catch (error) {
      assert.instance(error, InputError);
      assert.match((error as Error).message, message);
    }
  });
}

test('a disk or link without a rate is refused in one line', () => {
  const windows = [{ device: 'a', layers: 4, gpuLayers: 0 }];
  const plan = ringPlan({ scheduler: 'hand', head: 'a', rounds: 1, windows });
  const workload = createWorkload({ promptTokens: 1, outputTokens: 1 });
  const still = toyCluster([toyDevice('a', { disk: { sequential: 0, random: 0 } })]);
  assert.throws(
    () => simulate({ cluster: still, model: TOY_MODEL, plan, workload }),
    /^InputError: a: disk: 0 is not a rate above 0 bytes per second$|^a: disk: 0 is not a rate/,
  );
  const cut = createCluster({
    name: 'cut',
    devices: [toyDevice('a')],
    links: { default: { latency: 0, bandwidth: Number.NaN }, pairs: new Map() },
  });
  assert.throws(() => simulate({ cluster: cut, model: TOY_MODEL, plan, workload }), /links: bandwidth: NaN is not/);
});

test.run();
