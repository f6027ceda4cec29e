import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { KvPaging } from '../../../engine/cost/kv-pages.ts';
import { predict } from '../../../engine/cost/predict.ts';
import { createWorkload } from '../../../engine/model/workload.ts';
import { createPlan } from '../../../engine/plan/create-plan.ts';
import type { Plan } from '../../../engine/plan/plan.ts';
import { helmRing } from '../../../engine/schedule/helm/ring.ts';
import { perfettoTrace } from '../../../engine/trace/perfetto.ts';
import { simulate } from '../../../simulator/simulate.ts';
import { near } from '../../support/near.ts';
import { TOY_MODEL, TOY_RUNTIME, toyCluster, toyDevice, toyGpu, toyMemory } from '../../support/toy-cluster.ts';

/** All layers on the GPU, 19,000 bytes of weights with the output; keys and values in RAM where they don't fit. */
const PLAN: Plan = createPlan({
  scheduler: 'hand',
  rounds: 1,
  stages: [{ device: 'pc', processor: 'gpu', from: 0, to: 4 }],
  embedding: { device: 'pc', processor: 'cpu' },
  output: { device: 'pc', processor: 'gpu' },
  weights: {},
  kvCache: 'host',
});
/** A page of two tokens takes 800 bytes, and a slice 200, which is copied in 0.3 s and attended to in 0.04 s. */
const PAGING: KvPaging = { pageTokens: 2, watermark: 0.8, passingSlices: 2 };

interface Case {
  readonly poolBytes: number;
  readonly context: number;
  readonly paging?: KvPaging | 'none';
  readonly ram?: number;
  readonly growing?: number;
}

function run({ poolBytes, context, paging = PAGING, ram = 1e6, growing = 0 }: Case) {
  const gpu = toyGpu('cuda', 19_000 + TOY_RUNTIME.gpuBufferBytes + poolBytes);
  const cluster = toyCluster([toyDevice('pc', { gpu, memory: toyMemory(ram) })]);
  const workload = createWorkload({ promptTokens: growing > 0 ? context : 1, outputTokens: growing || 3, context });
  const parts = { plan: PLAN, model: TOY_MODEL, workload, runtime: TOY_RUNTIME, ...(paging !== 'none' && { paging }) };
  const mode = growing > 0 ? 'growing' : 'fixed';
  const result = simulate({ ...parts, cluster, context: mode, extentBytes: 1 });
  const decoded = result.trace.tokens.filter(({ phase }) => phase === 'decode');
  return {
    ...result,
    seconds: decoded.map(({ start, end }) => end - start),
    predicted: predict({ ...parts, truth: cluster }),
    resident: predict({ ...parts, truth: cluster, plan: { ...PLAN, kvCache: 'with-layers' } }).tokenSeconds,
  };
}

test('with four of five pages evicted two slices arrive ahead and the layer waits 0.26 s for each other one', () => {
  const { seconds, predicted, resident, trace } = run({ poolBytes: 1600, context: 10 });
  // A layer: 3.11 s of other work; slices at 3.11, 3.15, then 3.15 + 0.3 and 3.15 + 0.6 s, each attended to for 0.04 s.
  for (const token of seconds.slice(1)) near(token, resident + 4 * (3.79 - 3.27), 1e-9);
  // The closed form has no overlap: 16 slices of 0.3 s.
  near(predicted.tokenSeconds, resident + 16 * 0.3, 1e-9);
  const copies = trace.spans.filter(({ name }) => name.endsWith('to the GPU'));
  // While pages were being evicted the order was different; the last token has 16 slices, and two are ahead for the
  // next.
  assert.equal(
    copies.slice(-18, -13).map(({ name }) => name),
    [...[0, 1, 2, 3].map((page) => `KV page ${page} of layer 0 to the GPU`), 'KV page 0 of layer 1 to the GPU'],
  );
  assert.ok(copies.every(({ args }) => args.bytes === 200));
  const left = trace.spans.filter(({ name }) => name.endsWith('to RAM')).map(({ name }) => name);
  assert.equal(
    left,
    [0, 1, 2, 3].map((page) => `KV page ${page} to RAM`),
  );
  assert.ok(perfettoTrace(trace).traceEvents.length > 0);
});

/** Two devices whose GPUs have room for two layers each and 800 bytes; the head's for the output layer too. */
const RING = toyCluster(
  ['pc', 'other'].map((name, index) => {
    const vram = TOY_RUNTIME.gpuBufferBytes + (index === 0 ? 11_000 : 8000) + 800;
    return toyDevice(name, { gpu: toyGpu('cuda', vram), memory: toyMemory(3000) });
  }),
);

test('in a ring every device has its own pages, and layers wait as on a single machine', () => {
  const problem = {
    model: TOY_MODEL,
    workload: createWorkload({ outputTokens: 3, context: 10 }),
    runtime: TOY_RUNTIME,
  };
  const { plan } = helmRing({ ...problem, belief: RING }, { paging: PAGING });
  assert.ok(plan !== undefined);
  assert.equal(
    plan.stages.map(({ device, processor, from, to }) => [device, processor, from, to]),
    [
      ['pc', 'gpu', 0, 2],
      ['other', 'gpu', 2, 4],
    ],
  );
  const { trace, outOfMemory } = simulate({
    ...problem,
    cluster: RING,
    plan,
    paging: PAGING,
    context: 'fixed',
    extentBytes: 1,
  });
  assert.equal(outOfMemory, []);
  const resident = predict({ ...problem, truth: RING, plan: { ...plan, kvCache: 'with-layers' } }).tokenSeconds;
  const [, ...later] = trace.tokens.filter(({ phase }) => phase === 'decode');
  // As in the first test: four slices in every layer, the first two of which have arrived.
  for (const { start, end } of later) near(end - start, resident + 4 * (3.79 - 3.27), 1e-9);
  for (const device of ['pc', 'other']) {
    const own = trace.spans.filter((span) => span.device === device);
    // For two layers a page is 400 bytes.
    const left = own.filter(({ name }) => name.endsWith('to RAM'));
    assert.equal(
      left.map(({ args }) => args.bytes),
      [400, 400, 400, 400],
    );
    assert.ok(own.some(({ name, lane }) => name.startsWith('waits for KV page') && lane === 'gpu'));
  }
});

test('if pages don’t fit the search gives a device fewer layers than its memory holds', () => {
  const problem = { model: TOY_MODEL, workload: createWorkload({ context: 10 }), runtime: TOY_RUNTIME, belief: RING };
  const onGpu = (paging?: KvPaging): number =>
    (helmRing(problem, paging && { paging }).plan?.stages ?? [])
      .filter(({ processor }) => processor === 'gpu')
      .reduce((sum, { from, to }) => sum + to - from, 0);
  assert.is(onGpu(), 4);
  // A page of eight tokens is 1600 bytes for two layers.
  assert.ok(onGpu({ ...PAGING, pageTokens: 8 }) < 4);
});

test('pages below the watermark stay and cost nothing', () => {
  // Five pages are 4000 bytes, 80% of 5000.
  const { seconds, predicted, resident } = run({ poolBytes: 5000, context: 10 });
  for (const token of seconds) near(token, resident, 1e-9);
  near(predicted.tokenSeconds, resident, 1e-9);
  assert.is(run({ poolBytes: 4999, context: 10 }).predicted.tokenSeconds > resident, true);
});

test('for any pages the time is at least that of the GPU and of the copies, and at most their sum', () => {
  const cases = fc.record({
    poolBytes: fc.integer({ min: 1600, max: 20_000 }),
    context: fc.integer({ min: 1, max: 60 }),
    pageTokens: fc.integer({ min: 1, max: 5 }),
    passingSlices: fc.integer({ min: 1, max: 5 }),
  });
  fc.assert(
    fc.property(cases, ({ poolBytes, context, pageTokens, passingSlices }) => {
      const paging = { pageTokens, passingSlices, watermark: 0.8 };
      const { seconds, predicted, outOfMemory } = run({ poolBytes, context, paging });
      if (outOfMemory.length > 0) return;
      const copies = predicted.seconds.deviceCopy - 0.4;
      const resident = predicted.tokenSeconds - copies;
      for (const token of seconds.slice(1)) {
        assert.ok(token >= Math.max(resident, copies) - 1e-9, `${token}: ${resident}, ${copies}`);
        assert.ok(token <= predicted.tokenSeconds + 1e-9, `${token} of ${predicted.tokenSeconds}`);
      }
    }),
    { seed: 4, numRuns: 150 },
  );
});

test('with a growing context pages are evicted and copied back during computation', () => {
  // Six pages are kept, and there is room for a seventh; the thirteenth token has it.
  const { seconds, trace } = run({ poolBytes: 6000, context: 1, growing: 16 });
  const whole = run({ poolBytes: 6000, context: 1, growing: 16, paging: 'none' }).seconds;
  const firstLeaves = trace.spans.find(({ name }) => name === 'KV page 0 to RAM');
  const thirteenth = trace.tokens.filter(({ phase }) => phase === 'decode')[12];
  assert.is(firstLeaves?.start, thirteenth?.start);
  assert.is(seconds.length, 16);
  // Slices arrive ahead, except the second page's first, which the fifteenth token needs for the first time.
  for (const [index, token] of seconds.entries())
    near(token, (whole[index] as number) + (index === 14 ? 0.3 : 0), 1e-9);
});

test('without room for a new page its token waits 0.1 + 0.8 s for the eviction of the oldest', () => {
  // Four pages are kept, and slices take the room of a fifth.
  const { seconds } = run({ poolBytes: 4000, context: 1, growing: 10 });
  const whole = run({ poolBytes: 4000, context: 1, growing: 10, paging: 'none' }).seconds;
  for (const [index, token] of seconds.entries()) near(token, (whole[index] as number) + (index === 8 ? 0.9 : 0), 1e-9);
});

test('evicted pages need RAM, and a page with its slices VRAM, and the first context without either is reported', () => {
  // Buffers of 300 bytes, nine of ten pages of 800: 7500.
  assert.equal(run({ poolBytes: 1600, context: 20, ram: 7500 }).outOfMemory, []);
  const [ram] = run({ poolBytes: 1600, context: 20, ram: 7499 }).outOfMemory;
  assert.equal([ram?.memory, ram?.neededBytes], ['ram', 7500]);
  const [vram] = run({ poolBytes: 1199, context: 20 }).outOfMemory;
  assert.equal([vram?.memory, vram?.neededBytes, vram?.availableBytes], ['vram', 1200, 1199]);
});

test('without paging the KV cache is in RAM and reading it is free', () => {
  const { seconds } = run({ poolBytes: 1600, context: 10, paging: 'none' });
  assert.is(seconds.length, 3);
  assert.throws(
    () => run({ poolBytes: 1600, context: 10, paging: { ...PAGING, watermark: 1.2 } }),
    /paging\.watermark: 1\.2 is not a share above 0 and at most 1/,
  );
});

test.run();
