import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createNamedModel, loadCatalogue, loadCluster } from '../../datasets/load.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import { parsePlan } from '../../engine/plan/parse-plan.ts';
import type { Plan, PlanKind } from '../../engine/plan/plan.ts';
import { ringWindows } from '../../engine/plan/ring-windows.ts';
import { FIT_POLICY, isFitted, type WeightsPolicy } from '../../engine/plan/weights-policy.ts';
import { fittedPlan } from '../../engine/ring/head/planning.ts';
import { loadIntegerSolver } from '../../engine/schedule/integer-solver.ts';
import { SCHEDULERS, type SchedulerName } from '../../engine/schedule/registry.ts';
import { simulate } from '../../simulator/simulate.ts';

const CATALOGUE = loadCatalogue();
const WORKLOAD = createWorkload({ promptTokens: 8, outputTokens: 3 });
const SOLVER = await loadIntegerSolver(10);

/** A plan of every kind, and of every way to handle weights. */
const CASES: readonly [kind: PlanKind, scheduler: SchedulerName, cluster: string, model: string][] = [
  ['ring', 'ring-aware', 'prima-home', 'Llama-3-70B'],
  ['ring', 'halda', 'prima-home', 'Llama-3-70B'],
  ['ring', 'optimal', 'home-phones', 'Llama-3-70B'],
  ['ring', 'helm-ring', 'prima-home', 'Llama-1-30B'],
  ['split', 'single-device', 'helm-4060', 'Qwen3-8B:BF16'],
  ['split', 'cpu-gpu-split', 'helm-4060', 'Qwen3-8B:BF16'],
  ['split', 'zero-inference', 'helm-4060', 'Qwen3-8B:BF16'],
  ['split', 'accelerate', 'helm-4060', 'Qwen3-8B:BF16'],
  ['tensor-parallel', 'dllama', 'prima-home', 'Llama-3-8B'],
  ['chip', 'tensor-partition', 'hetero-8gen3', 'Llama-3-8B'],
];

/** The plan as `hearth run --save-plan` writes it and `--plan` reads it. */
const writtenAndRead = (plan: Plan): Plan => parsePlan(JSON.stringify(fittedPlan(plan, new Map())), 'saved.json');

for (const [kind, scheduler, clusterName, modelName] of CASES)
  test(`a saved ${kind} plan by ${scheduler} is read back unchanged and simulates alike`, () => {
    const cluster = loadCluster(clusterName);
    const model = createNamedModel(CATALOGUE, modelName);
    const { plan } = SCHEDULERS[scheduler].plan({ belief: cluster, model, workload: WORKLOAD }, SOLVER);
    assert.ok(plan);
    assert.is(plan.kind, kind);
    const read = writtenAndRead(plan);
    assert.equal(read, plan);
    const run = (given: Plan) => simulate({ cluster, model, plan: given, workload: WORKLOAD });
    assert.equal(run(read), run(plan));
  });

test('every weights policy survives saving, and `fit` is decided alike', () => {
  const cluster = loadCluster('prima-home');
  const model = createNamedModel(CATALOGUE, 'Llama-3-70B');
  const { plan } = SCHEDULERS['ring-aware'].plan({ belief: cluster, model, workload: WORKLOAD }, SOLVER);
  assert.ok(plan);
  const policies: readonly WeightsPolicy[] = [
    FIT_POLICY,
    { prefetch: 'fit', release: 'none' },
    { prefetch: 'willneed-whole', release: 'none' },
    { prefetch: 'willneed', release: 'drop' },
    { prefetch: 'populate', release: 'pinned', pinned: 2 ** 30 },
    { prefetch: 'none', release: 'pinned', pinned: 0 },
  ];
  for (const policy of policies) {
    const holders = Object.keys(plan.weights);
    const given: Plan = { ...plan, weights: Object.fromEntries(holders.map((name) => [name, policy])) };
    const read = writtenAndRead(given);
    assert.equal(read, given);
    const tokens = (one: Plan) => simulate({ cluster, model, plan: one, workload: WORKLOAD }).trace.tokens;
    assert.equal(tokens(read), tokens(given));
    assert.is(isFitted(policy), policy.prefetch !== 'fit');
  }
});

test('a ring carries out a plan as it is or refuses it', () => {
  const problem = (kind: PlanKind): string => {
    const [, scheduler, clusterName, modelName] = CASES.find(([one]) => one === kind) as (typeof CASES)[number];
    const cluster = loadCluster(clusterName);
    const belief = { belief: cluster, model: createNamedModel(CATALOGUE, modelName), workload: WORKLOAD };
    try {
      const { plan } = SCHEDULERS[scheduler].plan(belief, SOLVER);
      return `${ringWindows(plan as Plan).length} windows`;
    } catch (error) {
      return (error as Error).message;
    }
  };
  const cut = 'is "tensor-parallel", which cuts every layer; for whole layers use "ring"';
  assert.is(problem('tensor-parallel'), `plan: kind: ${cut}`);
  assert.is(problem('chip'), '1 windows');
  assert.is(problem('split'), '1 windows');
});

test.run();
