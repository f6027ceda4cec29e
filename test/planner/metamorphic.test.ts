import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { predict } from '../../engine/cost/predict.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import { FIT_POLICY } from '../../engine/plan/weights-policy.ts';
import { bestPlans } from '../../planner/best-plan.ts';
import { candidates } from '../../planner/candidates.ts';
import { leastSeconds } from '../../planner/least-seconds.ts';
import { simulatedTokenRange, simulatedTokenSeconds } from '../../planner/simulated-times.ts';
import { simulate } from '../../simulator/simulate.ts';
import { answered, checkHome, homeOf, MIXTURE, QUARTER } from './metamorphic.ts';

test('more memory, speed, disk, links or devices is never worse; names and order change nothing: 100 random homes', () => {
  let checks = 0;
  for (let seed = 0; seed < 100; seed++) {
    for (const { what, ratio, holds } of checkHome(seed, 2)) {
      checks += 1;
      assert.ok(holds, `${what}: × ${ratio}`);
    }
  }
  assert.is(checks, 200);
});

/** Closed forms choose among plans that cache experts: by so much a better home may have a slower answer. */
const WORSE_OF_MIXTURES = 0.05;

test('nor for a mixture whose experts are read from disks: eight random homes', () => {
  let checks = 0;
  for (let seed = 0; seed < 8; seed++) {
    for (const { what, ratio } of checkHome(seed, 4, MIXTURE)) {
      checks += 1;
      assert.ok(ratio <= 1 + WORSE_OF_MIXTURES, `${what}: × ${ratio}`);
    }
  }
  assert.is(checks, 32);
});

test('the answer is the fastest of all candidates, and no candidate is faster than its bound', () => {
  let compared = 0;
  for (let seed = 1000; seed < 1012; seed++) {
    const home = homeOf(seed);
    const workload = createWorkload({ promptTokens: 128, context: home.context });
    const question = { cluster: home.cluster, model: QUARTER, workload };
    const best = answered(home);
    for (const { plan } of candidates({ belief: home.cluster, model: QUARTER, workload })) {
      const seconds = simulatedTokenSeconds(question, plan);
      assert.ok(best <= seconds * (1 + 1e-9), `home ${seed}: ${best}, but ${plan.scheduler} takes ${seconds}`);
      const least = leastSeconds(question, plan);
      assert.ok(least <= seconds * (1 + 1e-9), `home ${seed}: ${plan.scheduler} takes ${seconds}, bound ${least}`);
      compared += 1;
    }
  }
  assert.ok(compared > 100, `${compared}`);
});

test('where a percent of memory decides, the answer has a range; its policies fit what is pinned to the memory there is', () => {
  const rangeOf = (seed: number) => {
    const { cluster, context } = homeOf(seed);
    const question = { cluster, model: QUARTER, workload: createWorkload({ promptTokens: 128, context }) };
    const best = bestPlans(question, { simulates: true }).whole!;
    return { best, range: simulatedTokenRange(question, best.plan) };
  };
  // At the edge of its memory: what is 0.064 s reads everything with a percent less.
  const { best, range } = rangeOf(10);
  assert.ok(range !== undefined && range.least <= best.seconds && range.most > 100 * best.seconds);
  const streaming = rangeOf(17);
  assert.ok(streaming.range !== undefined && streaming.range.most < 1.15 * streaming.range.least);
  for (const policy of Object.values(streaming.best.plan.weights)) assert.equal(policy, FIT_POLICY);
  assert.is(rangeOf(0).range, undefined);
});

test('a plan for one device that fits takes what is predicted, where a page cache keeps single bytes', () => {
  let compared = 0;
  for (let seed = 0; seed < 80; seed += 4) {
    const { cluster, context } = homeOf(seed);
    const workload = createWorkload({ promptTokens: 16, context, outputTokens: 2 });
    for (const { plan } of candidates({ belief: cluster, model: QUARTER, workload })) {
      const predicted = predict({ plan, truth: cluster, model: QUARTER, workload });
      if (predicted.reloadedBytes > 0 || predicted.infeasible.length > 0) continue;
      const options = { context: 'fixed', reclaim: 'overflow', extentBytes: 1 } as const;
      const token = simulate({ cluster, model: QUARTER, plan, workload, ...options }).trace.tokens.at(-1)!;
      const seconds = token.end - token.start;
      assert.ok(
        Math.abs(seconds - predicted.tokenSeconds) <= 1e-9 * seconds,
        `home ${seed}: ${plan.scheduler} takes ${seconds}, predicted ${predicted.tokenSeconds}`,
      );
      compared += 1;
    }
  }
  assert.ok(compared > 20, `${compared}`);
});

test.run();
