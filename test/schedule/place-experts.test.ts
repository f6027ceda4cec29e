import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createNamedModel, loadCatalogue } from '../../datasets/load.ts';
import { predict } from '../../engine/cost/predict.ts';
import { zipfPopularity } from '../../engine/experts/draw-routing.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import { validatePlan } from '../../engine/plan/validate-plan.ts';
import { bestExpertParallel } from '../../engine/schedule/expert-parallel.ts';
import { type PlacementCase, placeExperts } from '../../engine/schedule/place-experts.ts';
import { holderCluster, holderPlan } from '../support/holder-cluster.ts';

/** The largest mean seconds of a place, from the definition. */
function largest({ shares, places }: PlacementCase, placeOf: readonly number[]): number {
  return Math.max(
    ...places.map(({ seconds, messageSeconds }, place) => {
      const own = Array.from(shares).filter((_, expert) => placeOf[expert] === place);
      const unused = own.reduce((product, share) => product * (1 - share), 1);
      return (1 - unused) * messageSeconds + seconds * own.reduce((sum, share) => sum + share, 0);
    }),
  );
}

/** The least of all ways to place experts that there is room for. */
function least(given: PlacementCase): number {
  const { shares, places, most } = given;
  let best = Number.POSITIVE_INFINITY;
  for (let way = 0; way < places.length ** shares.length; way++) {
    const placeOf = Array.from(shares, (_, expert) => Math.floor(way / places.length ** expert) % places.length);
    if (most.every((room, place) => placeOf.filter((own) => own === place).length <= room))
      best = Math.min(best, largest(given, placeOf));
  }
  return best;
}

const cases = fc
  .record({
    shares: fc.array(fc.double({ min: 0.01, max: 0.95, noNaN: true }), { minLength: 3, maxLength: 7 }),
    places: fc.array(
      fc.record({
        seconds: fc.double({ min: 0.5, max: 4, noNaN: true }),
        messageSeconds: fc.constantFrom(0, 0.3, 1),
      }),
      { minLength: 2, maxLength: 3 },
    ),
    room: fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 3, maxLength: 3 }),
  })
  .map(({ room, ...given }): PlacementCase => ({ ...given, most: room.slice(0, given.places.length) }));

test('experts are placed within 2 % of the best of all ways in the mean, and mostly just so', () => {
  const ratios: number[] = [];
  for (const given of fc.sample(cases, { numRuns: 300, seed: 7 })) {
    const placeOf = placeExperts(given);
    if (placeOf === undefined) {
      assert.ok(given.most.reduce((sum, one) => sum + one, 0) < given.shares.length);
      continue;
    }
    for (const [place, room] of given.most.entries())
      assert.ok(placeOf.filter((own) => own === place).length <= room, 'more than there is room for');
    ratios.push(largest(given, placeOf) / least(given));
  }
  const mean = ratios.reduce((sum, one) => sum + one, 0) / ratios.length;
  const best = ratios.filter((ratio) => ratio < 1 + 1e-9).length / ratios.length;
  const figures = `${ratios.length} cases: mean ${mean}, largest ${Math.max(...ratios)}, ${best} of them the best`;
  assert.ok(ratios.length > 200 && mean < 1.02 && Math.max(...ratios) < 1.3 && best > 0.8, figures);
});

const model = createNamedModel(loadCatalogue(), 'gpt-oss-20b');
const workload = createWorkload({ promptTokens: 64, outputTokens: 3, context: 66 });

test('the best plan is valid, fits, and is no slower than an even division', () => {
  const cluster = holderCluster([60e9, 40e9, 20e9], [8e9, 12e9, 8e9]);
  const shares = zipfPopularity({ layers: model.layers, experts: 32, seed: 1 }, 0.8).map((own) => {
    const sum = own.reduce((all, one) => all + one, 0);
    return own.map((one) => Math.min(0.9, (4 * one) / sum));
  });
  const routing = { kind: 'statistics', shares, recurrence: { previous: 0, recent: 0, window: 1 } } as const;
  const best = bestExpertParallel({ cluster, model, workload, routing });
  if (best === undefined) throw new Error('no plan');
  validatePlan(best.plan, cluster, model);
  const even = holderPlan(model, (expert) => 'abc'[expert % 3] ?? '');
  const divided = predict({ plan: even, truth: cluster, model, workload, routing });
  assert.equal(best.breakdown.infeasible, []);
  assert.ok(best.breakdown.tokenSeconds < divided.tokenSeconds);
});

test('devices that don’t hold it together, and models without experts, have no plan', () => {
  const small = holderCluster([60e9, 40e9], [4e9, 4e9]);
  assert.is(bestExpertParallel({ cluster: small, model, workload }), undefined);
  const dense = createNamedModel(loadCatalogue(), 'Llama-3-8B');
  assert.is(bestExpertParallel({ cluster: holderCluster([60e9, 40e9]), model: dense, workload }), undefined);
});

test.run();
