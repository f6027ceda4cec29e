import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createNamedModel, loadCatalogue, loadCluster } from '../../../../datasets/load.ts';
import { testbedNamed, withHead } from '../../../../datasets/testbeds.ts';
import { predict } from '../../../../engine/cost/predict.ts';
import { createWorkload } from '../../../../engine/model/workload.ts';
import { type Plan, planShares } from '../../../../engine/plan/plan.ts';
import { ringPlan } from '../../../../engine/plan/ring-plan.ts';
import { loadIntegerSolver } from '../../../../engine/schedule/integer-solver.ts';
import { primaOptions } from '../../../../experiments/papers/prima/options.ts';
import { evenReloads, planWith, ringOrAlone } from '../../../../experiments/papers/prima/planners.ts';
import { PRIMA_CPP, runtimeOf, workloadOf } from '../../../../experiments/papers/prima/program.ts';

const belief = loadCluster('prima-a5');
const model = createNamedModel(loadCatalogue(), 'Llama-3-70B');
const workload = createWorkload({ context: 256 });
const problem = { belief, model, workload };

function planOf(cpuLayers: readonly number[], rounds = 1): Plan {
  const windows = belief.devices.map(({ name }, index) => {
    const gpuLayers = 8 / rounds;
    return { device: name, layers: (cpuLayers[index] as number) + gpuLayers, gpuLayers };
  });
  return ringPlan({ scheduler: 'optimal', head: 'container1', rounds, windows });
}

function secondsOf(plan: Plan) {
  const { tokenSeconds, devices } = predict({ ...problem, plan, truth: belief });
  return { total: tokenSeconds, reloads: devices.map(({ seconds }) => seconds.disk) };
}

test('the reloads of one of four equal devices are spread over all four, with the same sum', () => {
  const uneven = planOf([7, 9, 11, 21]);
  const before = secondsOf(uneven);
  const after = secondsOf(evenReloads(problem, uneven));
  assert.ok(Math.max(...before.reloads) > 3);
  assert.ok(Math.max(...after.reloads) < 1.3);
  assert.ok(Math.max(...after.reloads) - Math.min(...after.reloads) < 0.5);
  assert.ok(Math.abs(after.total / before.total - 1) < 1e-6);
});

test('an even plan is not changed', () => {
  const even = evenReloads(problem, planOf([7, 9, 11, 21]));
  assert.equal(evenReloads(problem, even), even);
});

test('plans of several rounds are not changed', () => {
  const plan = planOf([4, 6, 7, 7], 2);
  assert.is(evenReloads(problem, plan), plan);
});

function planned(cluster: string, model: string) {
  const { plan } = ringOrAlone({
    belief: loadCluster(cluster),
    model: createNamedModel(loadCatalogue(), model),
    workload: createWorkload({ context: 134, reservedContext: 1024 }),
  });
  assert.ok(plan);
  const holders = planShares(plan).filter(({ cpuLayers, gpuLayers }) => cpuLayers + gpuLayers > 0);
  return { holders: holders.length, output: plan.output.processor };
}

test('a model that fits into the head’s GPU runs there alone, with its output layer', () => {
  assert.equal(planned('prima-home', 'Llama-3-8B'), { holders: 1, output: 'gpu' });
});

test('in a ring the head’s CPU has the output layer', () => {
  assert.equal(planned('prima-a5', 'Llama-3-14B'), { holders: 2, output: 'cpu' });
});

const solver = await loadIntegerSolver();
test.after(() => solver.dispose());

/** Layers of the 8B on each device of prima.cpp's home, by a version of its program. */
function layersOf8B(version: 'april-2025' | 'july-2025'): string[] {
  const { belief: name, heads } = testbedNamed('prima-home');
  const own = withHead(loadCluster(name), heads[version]);
  const eight = createNamedModel(loadCatalogue(), 'Llama-3-8B');
  const settings = workloadOf(PRIMA_CPP, primaOptions({}));
  const runtime = runtimeOf(PRIMA_CPP, version, eight, settings);
  const { plan } = planWith(
    'halda-program',
    { belief: own, model: eight, workload: settings, runtime },
    version,
    solver,
  );
  assert.ok(plan);
  return planShares(plan).map(({ device, cpuLayers, gpuLayers }) => `${device} ${cpuLayers + gpuLayers}`);
}

test('the program’s Halda splits the 8B as the paper and its documentation print it', () => {
  assert.equal(layersOf8B('april-2025'), ['D1 1', 'D2 1', 'D3 29', 'D4 1']); // 1:1:29:1
  assert.equal(layersOf8B('july-2025'), ['D3 32']); // 32:0:0:0
});

test.run();
