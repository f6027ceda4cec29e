import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createNamedModel, loadCatalogue } from '../../datasets/load.ts';
import { InputError } from '../../engine/input/input-error.ts';
import { createPlan, type PlanParts } from '../../engine/plan/create-plan.ts';
import { parsePlan } from '../../engine/plan/parse-plan.ts';
import { ringWindows } from '../../engine/plan/ring-windows.ts';
import { validatePlan } from '../../engine/plan/validate-plan.ts';
import { holderCluster, holderPlan } from '../support/holder-cluster.ts';

const model = createNamedModel(loadCatalogue(), 'gpt-oss-20b');
const cluster = holderCluster([60e9, 40e9]);
const plan = holderPlan(model, (expert) => (expert < 20 ? 'a' : 'b'));
const [own, other] = plan.holders as [(typeof plan.holders)[0], (typeof plan.holders)[0]];
const lists = (change: (list: number[]) => number[]) =>
  other.experts.map((list, layer) => (layer === 3 ? change([...list]) : list));

/** The message for a plan with these changes. */
function problem(changes: Partial<PlanParts>): string {
  try {
    validatePlan(createPlan({ ...plan, ...changes }), cluster, model);
  } catch (error) {
    if (error instanceof InputError) return error.message;
    throw error;
  }
  return 'valid';
}

test('a plan survives its file', () => {
  validatePlan(plan, cluster, model);
  assert.equal(parsePlan(JSON.stringify(plan), 'plan.json'), plan);
  const wrong = JSON.stringify({ ...plan, holders: [{ device: 'a', experts: [[0.5]] }] });
  assert.throws(
    () => parsePlan(wrong, 'plan.json'),
    /^plan.json: holders\[0\].experts: a list of lists of whole numbers of at least 0 is needed, not /,
  );
});

test('messages name the holder, the list and the expert', () => {
  const holders = (experts: readonly (readonly number[])[]) => ({ holders: [own, { device: 'b', experts }] });
  assert.is(problem({}), 'valid');
  assert.is(problem({ holders: [own] }), 'plan: holders: expert 20 of list 0 has none; give it to a device');
  assert.is(
    problem(holders(lists((list) => [3, ...list]))),
    'plan: holders[1].experts[3][0]: is 3, which "a" holds already; remove one',
  );
  assert.is(
    problem(holders(lists((list) => [...list, 32]))),
    'plan: holders[1].experts[3][12]: is 32; allowed: 0 to 31',
  );
  assert.is(
    problem(holders(lists((list) => list.reverse()))),
    'plan: holders[1].experts[3][1]: is 30 behind 31; give them in ascending order',
  );
  assert.is(
    problem(holders(other.experts.slice(1))),
    'plan: holders[1].experts: has 23 lists; 24 layers of gpt-oss-20b have experts',
  );
  assert.is(
    problem({ holders: [own, other, { device: 'b', experts: other.experts }] }),
    'plan: holders[2]: "b" occurs twice; give it one list for each layer',
  );
  assert.is(
    problem({ holders: [own, { device: 'd', experts: other.experts }] }),
    'plan: holders[1].device: cluster holders has no "d"; allowed: a, b',
  );
  assert.is(
    problem({ weights: { b: { prefetch: 'none', release: 'none' } } }),
    'plan: weights: experts that have holders stay in memory, as all else does; remove all policies',
  );
  assert.is(
    problem({ kvCache: 'host' }),
    'plan: kvCache: is "host"; the head keeps it with its layers: use "with-layers"',
  );
  const place = { device: 'b', processor: 'cpu' } as const;
  assert.is(
    problem({ stages: [{ ...place, from: 0, to: 24 }] }),
    'plan: stages[0].device: is "b"; the head "a" runs all layers with "holders"',
  );
  const dense = createNamedModel(loadCatalogue(), 'Llama-3-8B');
  const all = createPlan({ ...plan, stages: [{ device: 'a', processor: 'cpu', from: 0, to: dense.layers }] });
  assert.throws(() => validatePlan(all, cluster, dense), /: holders: .* has no layer with experts; remove it$/);
});

test('stages and relays that don’t go together with holders are refused', () => {
  const half = { device: 'a', processor: 'cpu' } as const;
  const stages = [
    { ...half, from: 0, to: 12 },
    { ...half, from: 12, to: 24 },
  ];
  assert.match(problem({ stages }), /^plan: stages: are 2; with "holders" one stage holds all layers/);
  assert.match(problem({ relays: [] }), /^plan: relays: the head and the holders send to each other directly/);
  assert.throws(() => ringWindows(plan), /is "expert-parallel"/);
});

test.run();
