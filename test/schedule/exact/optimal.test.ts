import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { predict } from '../../../engine/cost/predict.ts';
import { RECLAIM_POLICIES } from '../../../engine/cost/reclaim.ts';
import { deviceKind } from '../../../engine/hardware/device.ts';
import { InputError } from '../../../engine/input/input-error.ts';
import { planShares } from '../../../engine/plan/plan.ts';
import { validatePlan } from '../../../engine/plan/validate-plan.ts';
import { type OptimalOptions, optimal } from '../../../engine/schedule/exact/optimal.ts';
import { divisors, type Scheduled, type SchedulingProblem } from '../../../engine/schedule/scheduler.ts';
import { bruteForce } from '../../support/brute-force.ts';
import { near, relativelyNear } from '../../support/near.ts';
import { randomRings } from '../../support/random-ring.ts';
import {
  TOY_CPU,
  TOY_MODEL,
  TOY_RUNTIME,
  TOY_WORKLOAD,
  toyCluster,
  toyDevice,
  toyGpu,
  toyMemory,
} from '../../support/toy-cluster.ts';

/**
 * Predicted TPOT of a plan on the belief that it was made with; infinite without a plan. The plan must be valid and
 * feasible.
 */
function tokenSeconds({ belief, model, ...rest }: SchedulingProblem, { plan }: Scheduled): number {
  if (plan === undefined) return Number.POSITIVE_INFINITY;
  validatePlan(plan, belief, model);
  const breakdown = predict({ plan, truth: belief, model, ...rest });
  assert.equal(breakdown.infeasible, []);
  return breakdown.tokenSeconds;
}

/** Four layers of 10.6 s on a toy CPU, 3.27 s on a toy GPU; 5.2 s for the output, 2 s for the lookup, hops of 1 s. */
const toyProblem = (...devices: Parameters<typeof toyCluster>[0]): SchedulingProblem => ({
  belief: toyCluster(devices),
  model: TOY_MODEL,
  workload: TOY_WORKLOAD,
  runtime: TOY_RUNTIME,
});

test('of equal devices with enough memory the head runs alone, since every hop costs time', () => {
  const problem = toyProblem(toyDevice('a'), toyDevice('b'));
  const scheduled = optimal(problem);
  assert.equal(planShares(scheduled.plan!), [{ device: 'a', cpuLayers: 4, gpuLayers: 0, windows: 1 }]);
  near(tokenSeconds(problem, scheduled), 4 * 10.6 + 5.2 + 2);
});

test('a second device takes only the layers that the first would have to reload', () => {
  // Room for two layers in addition to output, row and buffer; a layer too many costs 5000/100 = 50 s, two hops 2 s.
  const problem = toyProblem(toyDevice('a', { memory: toyMemory(13_500) }), toyDevice('b', { cpu: slow(2) }));
  const scheduled = optimal(problem);
  assert.equal(planShares(scheduled.plan!), [
    { device: 'a', cpuLayers: 2, gpuLayers: 0, windows: 1 },
    { device: 'b', cpuLayers: 2, gpuLayers: 0, windows: 1 },
  ]);
  near(tokenSeconds(problem, scheduled), 2 * 10.6 + 2 * 21.2 + 5.2 + 2 + 2);
});

test('a device that is too slow to justify its hop is omitted', () => {
  const problem = toyProblem(toyDevice('a', { memory: toyMemory(18_500) }), toyDevice('b', { cpu: slow(100) }));
  // 5000 bytes from disk take 50 s, a layer on b takes 1060 s
  assert.equal(
    planShares(optimal(problem).plan!).map(({ device }) => device),
    ['a'],
  );
});

test('a slow head has no layers, or one with w ≥ 1 for it (Eq. 2)', () => {
  const problem = toyProblem(toyDevice('a', { cpu: slow(3) }), toyDevice('b'));
  const may = optimal(problem);
  assert.equal(planShares(may.plan!), [{ device: 'b', cpuLayers: 4, gpuLayers: 0, windows: 1 }]);
  assert.is(may.plan!.output.device, 'a');
  near(tokenSeconds(problem, may), 4 * 10.6 + 3 * 5.2 + 2 + 2);
  const must = optimal(problem, { headLayers: 'must' });
  assert.equal(
    planShares(must.plan!).map(({ device, cpuLayers }) => [device, cpuLayers]),
    [
      ['a', 1],
      ['b', 3],
    ],
  );
});

test('the output layer is on the GPU if that is faster, fits and is allowed', () => {
  const roomy = toyProblem(toyDevice('a', { gpu: toyGpu('cuda', 23_200) }));
  near(tokenSeconds(roomy, optimal(roomy)), 4 * 3.27 + 0.4 + 1.64 + 2);
  near(tokenSeconds(roomy, optimal(roomy, { output: 'cpu' })), 4 * 3.27 + 0.4 + 5.2 + 2);
  // one byte less: the output layer would cost a layer its place, 7.33 s for 3.56 s
  const tight = toyProblem(toyDevice('a', { gpu: toyGpu('cuda', 23_199) }));
  near(tokenSeconds(tight, optimal(tight)), 4 * 3.27 + 0.4 + 5.2 + 2);
});

test('without memory for KV cache and buffers there is no plan, but a reason', () => {
  const problem = toyProblem(toyDevice('a', { memory: toyMemory(1200) }), toyDevice('b', { memory: toyMemory(1200) }));
  const scheduled = optimal(problem);
  assert.equal(scheduled, {
    plan: undefined,
    reason: 'fits-nowhere',
    message:
      'toy fits in no combination of devices of toy: KV cache and buffers exceed their memory; use a shorter context, or free memory',
  });
});

test('rounds that do not divide the layers are refused', () => {
  const problem = toyProblem(toyDevice('a'));
  for (const rounds of [3, 0, 1.5, 8]) {
    assert.throws(
      () => optimal(problem, { rounds }),
      (error: unknown) =>
        error instanceof InputError &&
        error.message === `rounds: ${rounds} does not divide the 4 layers; allowed: 1, 2, 4`,
    );
  }
});

test('the optimum equals brute force over every k, choice of devices, w, n and place of the output layer', () => {
  const seen = new Map<string, number>();
  const count = (what: string): unknown => seen.set(what, (seen.get(what) ?? 0) + 1);
  const property = fc.property(randomRings(), ({ problem, options }) => {
    const least = bruteForce(problem, options);
    const scheduled = optimal(problem, options);
    relativelyNear(tokenSeconds(problem, scheduled), least);

    const { belief, reclaim } = problem;
    for (const what of [reclaim, `output ${options.output}`, `head ${options.headLayers}`]) count(what);
    for (const kind of new Set(belief.devices.map(deviceKind))) count(kind);
    for (const api of new Set(belief.devices.map(({ gpu }) => gpu?.api ?? 'no gpu'))) count(api);
    count(belief.links.pairs.size > 0 ? 'links of pairs' : 'one link');
    if (scheduled.plan === undefined) count('no plan');
    else if (planShares(scheduled.plan).length > 1) count('several devices');
  });
  fc.assert(property, { numRuns: 1000, seed: 41 });
  const options = ['output any', 'output cpu', 'head may', 'head must', 'links of pairs', 'one link'];
  const devices = ['macos', 'macos-metal', 'linux', 'android', 'no gpu', 'cuda', 'metal', 'opencl'];
  for (const what of [...RECLAIM_POLICIES, ...options, ...devices, 'several devices']) {
    assert.ok((seen.get(what) ?? 0) >= 150, `${what}: ${seen.get(what)} of 1000`);
  }
  assert.ok((seen.get('no plan') ?? 0) >= 20);
});

test('for given rounds the optimum equals brute force over plans with these rounds', () => {
  let inRounds = 0;
  const property = fc.property(randomRings(), ({ problem, options }) => {
    for (const rounds of divisors(problem.model.layers).slice(1)) {
      const given: OptimalOptions = { ...options, rounds };
      const scheduled = optimal(problem, given);
      relativelyNear(tokenSeconds(problem, scheduled), bruteForce(problem, given));
      if (scheduled.plan !== undefined && scheduled.plan.rounds > 1) inRounds += 1;
    }
  });
  fc.assert(property, { numRuns: 400, seed: 42 });
  assert.ok(inRounds > 100);
});

/** The toy CPU, slowed down by the factor. */
function slow(times: number): typeof TOY_CPU {
  const flops = Object.fromEntries(Object.entries(TOY_CPU.flops).map(([format, rate]) => [format, rate / times]));
  return {
    ...TOY_CPU,
    flops: flops as typeof TOY_CPU.flops,
    bandwidth: TOY_CPU.bandwidth / times,
    kvCopyLatency: TOY_CPU.kvCopyLatency * times,
  };
}

test.run();
