import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { predict } from '../../engine/cost/predict.ts';
import type { Device } from '../../engine/hardware/device.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import { createPlan } from '../../engine/plan/create-plan.ts';
import { ringPlan } from '../../engine/plan/ring-plan.ts';
import { simulate } from '../../simulator/simulate.ts';
import { near, relativelyNear } from '../support/near.ts';
import { TOY_CPU, TOY_MODEL, TOY_RUNTIME, toyCluster, toyDevice } from '../support/toy-cluster.ts';

const windows = (...layers: readonly number[]) =>
  layers.map((count, index) => ({ device: 'ab'[index] ?? '', layers: count, gpuLayers: 0 }));
const plan = (...layers: readonly number[]) =>
  ringPlan({ scheduler: 'hand', head: 'a', rounds: 1, windows: windows(...layers), prefetch: 'none' });

test('a prompt of ten tokens on one device takes the time computed by hand', () => {
  const workload = createWorkload({ promptTokens: 10 });
  const truth = toyCluster([toyDevice('a')]);
  const { seconds, tokenSeconds } = predict({
    plan: plan(4),
    truth,
    model: TOY_MODEL,
    workload,
    runtime: TOY_RUNTIME,
    phase: 'prefill',
  });
  // Four layers: 30 s of products and 10 of attention; 4000 B of weights and 1000 B of keys and values; 0.5 + 1000/1000 s.
  near(seconds.compute, 4 * 40 + 2);
  near(seconds.memory, 4 * 5 + 3.2);
  near(seconds.kvCopy, 4 * 1.5);
  near(seconds.disk, 2); // the row of 200 B that is looked up
  near(tokenSeconds, 162 + 23.2 + 6 + 2);
});

test('a link carries the hidden states of the whole prompt: 0.5 + 1000/200 s each way', () => {
  const workload = createWorkload({ promptTokens: 10 });
  const truth = toyCluster([toyDevice('a'), toyDevice('b')]);
  const parts = { plan: plan(2, 2), truth, model: TOY_MODEL, workload, runtime: TOY_RUNTIME };
  near(predict({ ...parts, phase: 'prefill' }).seconds.link, 2 * 5.5);
  near(predict(parts).seconds.link, 2 * 1);
});

const cpus = fc.record({
  promptFlops: fc.option(fc.constant({ ...TOY_CPU.flops, Q4_K: 9000, Q6_K: 8000 })),
  attention: fc.option(
    fc.record({ memory: fc.integer({ min: 10, max: 1000 }), cache: fc.integer({ min: 10, max: 999 }) }),
  ),
  dispatch: fc.option(fc.integer({ min: 0, max: 5 })),
  activationBandwidth: fc.option(fc.integer({ min: 10, max: 1000 })),
});

/** The CPU without the facts that are null. */
function withFacts(facts: Readonly<Record<string, unknown>>): Device['cpu'] {
  return { ...TOY_CPU, ...Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== null)) };
}

test('simulated and predicted TTFT and TPOT are equal for any set of measured facts', () => {
  fc.assert(
    fc.property(cpus, fc.integer({ min: 1, max: 40 }), (facts, promptTokens) => {
      const workload = createWorkload({ promptTokens, outputTokens: 1, context: promptTokens });
      // A disk so fast that the first read of weights takes no time.
      const disk = { sequential: 1e14, random: 1e14 };
      const truth = toyCluster([toyDevice('a', { cpu: withFacts(facts), disk }), toyDevice('b', { disk })]);
      const parts = { model: TOY_MODEL, workload, runtime: TOY_RUNTIME, plan: plan(3, 1) };
      const { trace } = simulate({ ...parts, cluster: truth });
      const [first, second] = trace.tokens.map(({ start, end }) => end - start);
      relativelyNear(first ?? 0, predict({ ...parts, truth, phase: 'prefill' }).tokenSeconds);
      relativelyNear(second ?? 0, predict({ ...parts, truth }).tokenSeconds);
    }),
    { numRuns: 50 },
  );
});

test('a plan that cuts tensors is refused', () => {
  const truth = toyCluster([toyDevice('a'), toyDevice('b')]);
  const cut = [
    { device: 'a', share: 0.5 },
    { device: 'b', share: 0.5 },
  ];
  const whole = plan(4);
  const stages = whole.stages.map((stage) => ({ ...stage, cut }));
  const cutPlan = createPlan({ ...whole, weights: {}, stages });
  const workload = createWorkload({ promptTokens: 10 });
  assert.throws(
    () => predict({ plan: cutPlan, truth, model: TOY_MODEL, workload, phase: 'prefill' }),
    /phase: prefill is not predicted for plans that cut tensors/,
  );
});

test.run();
