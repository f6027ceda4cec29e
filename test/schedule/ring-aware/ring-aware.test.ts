import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createWorkload } from '../../../engine/model/workload.ts';
import { type Plan, planShares } from '../../../engine/plan/plan.ts';
import { validatePlan } from '../../../engine/plan/validate-plan.ts';
import { type FittedPolicy, pinnedBytesOf } from '../../../engine/plan/weights-policy.ts';
import { optimal } from '../../../engine/schedule/exact/optimal.ts';
import { ringAware } from '../../../engine/schedule/ring-aware/ring-aware.ts';
import type { SchedulingProblem } from '../../../engine/schedule/scheduler.ts';
import type { SimulationOptions } from '../../../simulator/options.ts';
import { simulate } from '../../../simulator/simulate.ts';
import { LAB_MODEL, LAB_SHARE, labCluster, NO_BUFFERS } from '../../support/lab.ts';
import { randomRings } from '../../support/random-ring.ts';
import { TOY_MODEL, TOY_RUNTIME, TOY_WORKLOAD, toyCluster, toyDevice, toyMemory } from '../../support/toy-cluster.ts';

const WORKLOAD = createWorkload({ promptTokens: 1, outputTokens: 3, context: 4 });

/** Mean seconds of the decoded tokens after the first, which depends on the memory after the prompt. */
function simulator(problem: SchedulingProblem, options: SimulationOptions): (plan: Plan) => number {
  const { belief: cluster, model, workload, runtime } = problem;
  return (plan) => {
    const all = { cluster, model, plan, workload, ...options, ...(runtime && { runtime }) };
    const { outOfMemory, trace } = simulate({ ...all, context: 'fixed', record: 'tokens' });
    if (outOfMemory.length > 0) return Number.POSITIVE_INFINITY;
    const tokens = trace.tokens.filter(({ phase }) => phase === 'decode').slice(1);
    return tokens.reduce((sum, { start, end }) => sum + end - start, 0) / tokens.length;
  };
}

const LAB: SchedulingProblem = {
  belief: labCluster({ limit: '640 MiB', disk: '400 MB/s' }),
  model: LAB_MODEL,
  workload: WORKLOAD,
  runtime: NO_BUFFERS,
};

test('on the lab ring, which holds 5/8 of the weights, the plan has more rounds, pinned weights and a third of the time', () => {
  const simulated = simulator(LAB, {});
  const { plan, considered } = ringAware(LAB, { simulated, candidates: 5 });
  assert.ok(plan!.rounds > 1);
  const policies = Object.values(plan!.weights);
  assert.is(policies.length, 4);
  assert.ok(policies.filter(({ prefetch }) => prefetch === 'populate').length >= 3);
  for (const policy of policies) {
    assert.is(policy.release, 'pinned');
    const share = pinnedBytesOf(policy as FittedPolicy) / LAB_SHARE;
    assert.ok(share > 0.4 && share < 0.625, `${share} of the share`);
  }
  const oneRound = considered.filter((one) => one.plan.rounds === 1);
  assert.is(oneRound.length, 3); // its own, and optimal's two
  for (const one of oneRound) assert.ok((one.simulatedSeconds ?? 0) > 3 * (considered[0]?.simulatedSeconds ?? 0));
});

test('the closed form agrees with the simulator for every number of rounds', () => {
  // Windows end within extents, which are read and kept as a whole.
  const simulated = simulator(LAB, { extentBytes: 2 ** 20 });
  const { considered } = ringAware(LAB);
  assert.equal(new Set(considered.map(({ plan }) => plan.rounds)), new Set([1, 2, 4, 8, 16])); // 32 rounds leave one device
  for (const { plan, predictedSeconds = 0 } of considered) {
    const ratio = predictedSeconds / simulated(plan);
    assert.ok(Math.abs(ratio - 1) < 0.05, `${plan.rounds} rounds: predicted ${ratio} times the simulated time`);
  }
});

test('without a simulator the plan with the least predicted time is chosen', () => {
  const { plan, considered } = ringAware(LAB);
  assert.is(plan, considered[0]?.plan);
  const times = considered.map(({ predictedSeconds = 0 }) => predictedSeconds);
  assert.equal(
    times,
    [...times].sort((one, other) => one - other),
  );
});

test('the plan is never slower than that of optimal for any simulator', () => {
  const reference = optimal(LAB).plan!;
  for (const prefetch of ['willneed', 'none']) {
    const favours = (plan: Plan): number =>
      plan.rounds === 1 &&
      Object.values(plan.weights).every((one) => one.prefetch === prefetch && one.release === 'none')
        ? 1
        : 2;
    const { plan } = ringAware(LAB, { simulated: favours });
    assert.equal([plan!.scheduler, plan!.stages], ['ring-aware', reference.stages]);
    assert.is(favours(plan!), 1);
  }
});

test('if no plan is feasible in the simulation the best prediction is chosen', () => {
  const { plan } = ringAware(LAB, { simulated: () => Number.POSITIVE_INFINITY });
  assert.equal(plan, ringAware(LAB).plan);
});

test('simulations are limited to the candidates, four with more or less pinned, and two of optimal', () => {
  for (const candidates of [1, 3]) {
    let calls = 0;
    ringAware(LAB, { candidates, simulated: (plan) => plan.rounds + calls++ });
    assert.is(calls, candidates + 4 + 2);
  }
});

test('if all weights fit the plan is that of optimal, with one round and without prefetching', () => {
  const problem: SchedulingProblem = {
    belief: toyCluster([toyDevice('a'), toyDevice('b')]),
    model: TOY_MODEL,
    workload: TOY_WORKLOAD,
    runtime: TOY_RUNTIME,
  };
  const { plan } = ringAware(problem);
  assert.equal(planShares(plan!), planShares(optimal(problem).plan!));
  assert.equal(plan!.weights, { a: { prefetch: 'none', release: 'none' } });
});

test('without memory for KV cache and buffers there is no plan, with the reason of optimal', () => {
  const belief = toyCluster([toyDevice('a', { memory: toyMemory(1200) })]);
  const problem = { belief, model: TOY_MODEL, workload: TOY_WORKLOAD, runtime: TOY_RUNTIME };
  assert.equal(ringAware(problem), { ...optimal(problem), considered: [] });
});

test('on any ring the plan is valid and simulates at least as fast as that of optimal', () => {
  let faster = 0;
  let planned = 0;
  const property = fc.property(randomRings(), ({ problem: { workload, ...rest } }) => {
    const problem = { ...rest, workload: { ...workload, promptTokens: 1, outputTokens: 3 } };
    // Extents as small compared with these layers as 4 MiB compared with real ones.
    const simulated = simulator(problem, { extentBytes: 8192, chunkBytes: 32_768 });
    const { plan } = ringAware(problem, { simulated, candidates: 3, extentBytes: 8192 });
    const reference = optimal(problem).plan;
    assert.is(plan === undefined, reference === undefined);
    if (plan === undefined || reference === undefined) return;
    validatePlan(plan, problem.belief, problem.model);
    const [own, others] = [simulated(plan), simulated(reference)];
    assert.ok(own <= others, `${own} s, optimal ${others} s`);
    planned += 1;
    if (own < 0.95 * others) faster += 1;
  });
  fc.assert(property, { numRuns: 80, seed: 61 });
  assert.ok(planned >= 50 && faster >= 10, `${faster} of ${planned} are faster`);
});

test.run();
