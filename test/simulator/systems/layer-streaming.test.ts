import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { predict } from '../../../engine/cost/predict.ts';
import type { Device, Gpu } from '../../../engine/hardware/device.ts';
import { createWorkload } from '../../../engine/model/workload.ts';
import type { Plan, Stage } from '../../../engine/plan/plan.ts';
import { metrics } from '../../../engine/trace/metrics.ts';
import { perfettoTrace } from '../../../engine/trace/perfetto.ts';
import { simulate } from '../../../simulator/simulate.ts';
import { relativelyNear } from '../../support/near.ts';
import { streamedPlan } from '../../support/streamed-plan.ts';
import { TOY_RUNTIME, toyCluster, toyDevice, toyGpu, toyMemory, toyModel } from '../../support/toy-cluster.ts';

const WORKLOAD = createWorkload({ promptTokens: 1, outputTokens: 2, context: 10 });
/** A layer takes 3.27 s, and 4.1 s over the host link. */
const PC = toyDevice('pc', { gpu: toyGpu('cuda', 1e6) });

const run = (given: Plan, device: Device = PC) => {
  const model = toyModel({ layers: given.stages.at(-1)?.to ?? 0 });
  const parts = { plan: given, model, workload: WORKLOAD, runtime: TOY_RUNTIME };
  const cluster = toyCluster([device]);
  const result = simulate({ ...parts, cluster, context: 'fixed', extentBytes: 1 });
  const seconds = result.trace.tokens.filter(({ phase }) => phase === 'decode').map(({ start, end }) => end - start);
  return { ...result, decoded: seconds, predicted: predict({ ...parts, truth: cluster }).tokenSeconds };
};

const OTHERS = 2 + 0.4 + 1.64; // the row of the embedding, to the GPU and back, the output layer

test('in turn: copy, hook and computation of two layers follow each other', () => {
  for (const seconds of run(streamedPlan([2, 'in-turn'])).decoded)
    relativelyNear(seconds, 2 * (4.1 + 0.0012 + 3.27) + OTHERS);
});

test('ahead: the second copy overlaps with the first computation', () => {
  const { decoded, trace } = run(streamedPlan([2, 'ahead']));
  for (const seconds of decoded) relativelyNear(seconds, 2 * 4.1 + 3.27 + OTHERS);
  const begin = (trace.tokens[1]?.start ?? 0) + 2; // the row of the embedding takes 2 s
  const times = (lane: string, cause: string) =>
    trace.spans
      .filter((span) => span.lane === lane && span.cause === cause && span.start >= begin - 1e-9)
      .slice(0, 2)
      .map(({ name, start }) => `${name} at ${(start - begin).toFixed(2)}`);
  assert.equal(times('link', 'deviceCopy'), ['layer 0 to the GPU at 0.00', 'layer 1 to the GPU at 4.10']);
  assert.equal(times('gpu', 'memory'), ['layer 0 at 4.10', 'layer 1 at 8.20']);
});

test('the simulation equals the prediction for any mix of stages and any speeds', () => {
  const run_ = fc.tuple(
    fc.integer({ min: 1, max: 4 }),
    fc.constantFrom(undefined, 'ahead' as const, 'in-turn' as const),
  );
  const mixes = fc.tuple(
    fc.array(run_, { minLength: 1, maxLength: 3 }),
    fc.integer({ min: 300, max: 5000 }),
    fc.constantFrom('cuda' as const, 'webgpu' as const),
  );
  const property = fc.property(mixes, ([runs, bandwidth, api]) => {
    const gpu = { ...toyGpu(api, 1e6), hostLink: { latency: 0.1, bandwidth } } as Gpu;
    const given = streamedPlan(
      ...runs.map(([layers, streamed]): [number, Stage['streamed']?] => (streamed ? [layers, streamed] : [layers])),
    );
    const { decoded, predicted } = run(given, { ...PC, gpu });
    for (const seconds of decoded) relativelyNear(seconds, predicted);
  });
  fc.assert(property, { seed: 13, numRuns: 100 });
});

test('streamed bytes cross the host link once per pass', () => {
  const { trace } = run(streamedPlan([1], [3, 'ahead']));
  assert.is(metrics(trace).lanes.find(({ lane }) => lane === 'link')?.bytes, 3 * 3 * 4000);
  assert.ok(perfettoTrace(trace).traceEvents.length > 0);
});

test('streamed weights that exceed the RAM are out of memory', () => {
  const memory = toyMemory(16_299);
  const { outOfMemory } = run(streamedPlan([4, 'ahead']), { ...PC, memory });
  assert.equal(
    outOfMemory.map(({ memory: which, neededBytes }) => [which, neededBytes]),
    [['ram', 16_300]],
  );
});

test.run();
