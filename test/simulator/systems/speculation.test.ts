import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { predict } from '../../../engine/cost/predict.ts';
import { speculativeSeconds } from '../../../engine/cost/speculation.ts';
import { createWorkload } from '../../../engine/model/workload.ts';
import { ringPlan } from '../../../engine/plan/ring-plan.ts';
import { metrics } from '../../../engine/trace/metrics.ts';
import { simulate } from '../../../simulator/simulate.ts';
import { relativelyNear } from '../../support/near.ts';
import { TOY_MODEL, TOY_RUNTIME, toyCluster, toyDevice } from '../../support/toy-cluster.ts';

const cluster = toyCluster([toyDevice('a'), toyDevice('b')]);
const plan = ringPlan({
  scheduler: 'hand',
  head: 'a',
  rounds: 1,
  windows: [
    { device: 'a', layers: 2, gpuLayers: 0 },
    { device: 'b', layers: 2, gpuLayers: 0 },
  ],
  prefetch: 'none',
});
const parts = {
  cluster,
  plan,
  model: TOY_MODEL,
  runtime: TOY_RUNTIME,
  context: 'fixed',
  reclaim: 'overflow',
  extentBytes: 1,
} as const;
const workload = (outputTokens: number) => createWorkload({ promptTokens: 1, outputTokens, context: 4 });

/** TPOT by the closed form. */
function predicted(acceptanceRate: number, draftTokens: number, draftSeconds: number, sureRate = 1): number {
  const asked = { plan, truth: cluster, model: TOY_MODEL, workload: workload(1), runtime: TOY_RUNTIME };
  const verifySeconds = (verifiedTokens: number): number => predict({ ...asked, verifiedTokens }).tokenSeconds;
  return speculativeSeconds({ acceptanceRate, sureRate, draftTokens, draftSeconds, verifySeconds });
}

test('where every draft is accepted, or none, the simulated TPOT is the predicted one', () => {
  for (const acceptanceRate of [0, 1])
    for (const draftTokens of [1, 3, 5]) {
      const speculation = { acceptanceRate, draftTokens, draftSeconds: 2 };
      // Whole passes: 1 + γ tokens each if all are accepted; the last tokens of a text are drafted no further.
      const result = simulate({ ...parts, workload: workload(24 + draftTokens + 1), speculation });
      const whole = result.trace.tokens.slice(1, 25);
      const seconds = whole.reduce((sum, { start, end }) => sum + end - start, 0) / whole.length;
      relativelyNear(seconds, predicted(acceptanceRate, draftTokens, 2));
    }
});

test('with an acceptance rate between, the TPOT of a long text is near Leviathan’s', () => {
  const speculation = { acceptanceRate: 0.7, draftTokens: 4, draftSeconds: 2 };
  const { trace } = simulate({ ...parts, workload: workload(4000), speculation, record: 'tokens' });
  assert.is(trace.tokens.length, 4001);
  const deviation = (metrics(trace).tokenSeconds as number) / predicted(0.7, 4, 2) - 1;
  assert.ok(Math.abs(deviation) < 0.03, `${deviation}`);
});

test('a draft that stops where it is not sure takes what the closed form says', () => {
  const speculation = { acceptanceRate: 0.95, sureRate: 0.8, draftTokens: 6, draftSeconds: 2 };
  const { trace } = simulate({ ...parts, workload: workload(4000), speculation, record: 'tokens' });
  const deviation = (metrics(trace).tokenSeconds as number) / predicted(0.95, 6, 2, 0.8) - 1;
  assert.ok(Math.abs(deviation) < 0.03, `${deviation}`);
});

test('without drafts nothing changes', () => {
  const speculation = { acceptanceRate: 0.7, draftTokens: 0, draftSeconds: 2 };
  const [plain, none] = [{}, { speculation }].map((more) => simulate({ ...parts, workload: workload(5), ...more }));
  assert.equal(none?.trace, plain?.trace);
});

test('rates that are none are refused', () => {
  const speculation = { acceptanceRate: 1.2, draftTokens: 2, draftSeconds: 0 };
  assert.throws(
    () => simulate({ ...parts, workload: workload(5), speculation }),
    /speculation.acceptanceRate: 1.2 is not a probability from 0 to 1/,
  );
});

test.run();
