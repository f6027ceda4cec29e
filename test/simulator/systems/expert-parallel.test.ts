import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createNamedModel, loadCatalogue } from '../../../datasets/load.ts';
import { createExpertParallelPredictor } from '../../../engine/cost/expert-parallel.ts';
import { DEFAULT_RUNTIME } from '../../../engine/cost/runtime.ts';
import { drawRouting, zipfPopularity } from '../../../engine/experts/draw-routing.ts';
import { expertsOf } from '../../../engine/experts/routing.ts';
import { createWorkload } from '../../../engine/model/workload.ts';
import { metrics } from '../../../engine/trace/metrics.ts';
import { simulate } from '../../../simulator/simulate.ts';
import { holderCluster, holderPlan } from '../../support/holder-cluster.ts';
import { relativelyNear } from '../../support/near.ts';

const model = createNamedModel(loadCatalogue(), 'gpt-oss-20b');
const cluster = holderCluster([60e9, 40e9, 30e9]);
const plan = holderPlan(model, (expert, layer) => 'aaaabc'[(expert + layer) % 6] ?? '');
const ROW = DEFAULT_RUNTIME.activationBytes * model.hiddenSize;

const routing = drawRouting({
  ...{ tokens: 400, used: 4, recurrence: { previous: 0, recent: 0, window: 1 }, seed: 5 },
  popularity: zipfPopularity({ layers: model.layers, experts: 32, seed: 2 }, 0.8),
});
const workload = createWorkload({ promptTokens: 8, outputTokens: 380, context: 64 });

test('TPOT agrees with the prediction in the mean, for the routing that is replayed', () => {
  const { trace } = simulate({ cluster, model, plan, workload, routing, context: 'fixed', record: 'tokens' });
  const known = { kind: 'recorded', routing } as const;
  const { tokenSeconds } = createExpertParallelPredictor(cluster, model, workload, { routing: known })(plan);
  relativelyNear(metrics(trace).tokenSeconds ?? 0, tokenSeconds, 0.01);
});

test('without a routing, all experts are as likely in both', () => {
  const { trace } = simulate({ cluster, model, plan, workload, context: 'fixed', record: 'tokens' });
  const { tokenSeconds } = createExpertParallelPredictor(cluster, model, workload)(plan);
  relativelyNear(metrics(trace).tokenSeconds ?? 0, tokenSeconds, 0.01);
});

test('every byte is on a link: rows there and sums back, of the prompt and of each token', () => {
  const short = { ...workload, outputTokens: 5 };
  const { trace } = simulate({ cluster, model, plan, workload: short, routing });
  let [there, back] = [0, 0];
  for (const { device, experts } of plan.holders) {
    if (device === 'a') continue;
    for (let layer = 0; layer < routing.layers; layer++) {
      const own = new Set(experts[layer]);
      const chosen = Array.from({ length: 13 }, (_, token) =>
        [...expertsOf(routing, token, layer)].filter((expert) => own.has(expert)),
      );
      // Eight tokens of the prompt go together.
      for (const pass of [chosen.slice(0, 8), ...chosen.slice(8).map((one) => [one])]) {
        const rows = pass.filter(({ length }) => length > 0).length;
        if (rows === 0) continue;
        there += 48 + rows * (4 + ROW) + 8 * pass.flat().length;
        back += 48 + rows * ROW;
      }
    }
  }
  const sent = (from: (device: string) => boolean): number =>
    trace.spans
      .filter(({ lane, device }) => lane === 'link' && from(device))
      .reduce((sum, { args }) => sum + (args.bytes ?? 0), 0);
  assert.is(
    sent((device) => device === 'a'),
    there,
  );
  assert.is(
    sent((device) => device !== 'a'),
    back,
  );
});

test('the head begins a layer when all sums of the one before are there', () => {
  const one = { ...workload, promptTokens: 1, outputTokens: 1 };
  const { trace } = simulate({ cluster, model, plan, workload: one, routing, context: 'fixed' });
  const spans = trace.spans.filter(({ start }) => start >= (trace.tokens[1]?.start ?? 0));
  // The head waits for the last sum of a layer before it begins the next.
  assert.ok(spans.length > 3 * model.layers);
  for (let layer = 0; layer + 1 < model.layers; layer++) {
    const ends = spans
      .filter(({ name }) => name === `layer ${layer}, experts` || name === `layer ${layer}`)
      .map(({ end }) => end);
    const next = spans.find(({ name }) => name === `layer ${layer + 1}`);
    assert.ok((next?.start ?? 0) >= Math.max(...ends) - 1e-12);
  }
});

test('a routing of another shape and options that do nothing are refused', () => {
  assert.throws(
    () => simulate({ cluster, model, plan, workload, routing: { ...routing, layers: 12 } }),
    /^routing: has 12 layers, 4 of 32 experts; gpt-oss-20b has 24 layers, 4 of 32 experts$/,
  );
  assert.throws(() => simulate({ cluster, model, plan, workload, warm: true }), /^warm: is not simulated for a plan/);
});

test.run();
