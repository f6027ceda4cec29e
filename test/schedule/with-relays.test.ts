import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createNamedModel, loadCatalogue } from '../../datasets/load.ts';
import { predict } from '../../engine/cost/predict.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import { parseCluster } from '../../engine/hardware/parse-cluster.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import { createPlan } from '../../engine/plan/create-plan.ts';
import { ringPlan } from '../../engine/plan/ring-plan.ts';
import { validatePlan } from '../../engine/plan/validate-plan.ts';
import { relaysOf } from '../../engine/plan/windows.ts';
import { loadIntegerSolver } from '../../engine/schedule/integer-solver.ts';
import { SCHEDULER_NAMES, SCHEDULERS } from '../../engine/schedule/registry.ts';
import { withRelays } from '../../engine/schedule/with-relays.ts';
import { near } from '../support/near.ts';

const model = createNamedModel(loadCatalogue(), 'Llama-3-8B');
const workload = createWorkload({ context: 512 });
const solver = await loadIntegerSolver(10);

/** Devices that need each other's memory, the named pairs of which don't reach each other. */
function cluster(
  names: readonly string[],
  apart: readonly (readonly [string, string])[],
  available = '3 GiB',
): Cluster {
  const devices = names.map((name) => ({
    name,
    os: 'linux',
    memory: { total: '8 GiB', available },
    cpu: { cores: 4, compute: '200 GFLOPS', bandwidth: '30 GB/s' },
    disk: { sequential: '0.5 GB/s' },
  }));
  const pairs = apart.map((between) => ({ between, reachable: false }));
  const links = { default: { latency: '2 ms', bandwidth: '300 Mbps' }, pairs };
  return parseCluster(JSON.stringify({ name: 'home', devices, links }), 'home.json');
}

test('every scheduler’s plan goes only where a way is', () => {
  for (const apart of [
    [['b', 'c']],
    [['a', 'c']],
    [
      ['b', 'c'],
      ['c', 'd'],
      ['b', 'd'],
    ],
  ] as [string, string][][]) {
    const belief = cluster(['a', 'b', 'c', 'd'], apart);
    for (const name of SCHEDULER_NAMES) {
      const { plan } = SCHEDULERS[name].plan({ belief, model, workload, kvCache: 'with-layers' }, solver);
      if (plan === undefined) continue;
      validatePlan(plan, belief, model);
      assert.ok(Number.isFinite(predict({ plan, model, workload, truth: belief }).tokenSeconds), name);
    }
  }
});

test('a ring is put into an order without relays where there is one, and else passes a hub', () => {
  const ordered = SCHEDULERS['memory-ratio'].plan(
    { belief: cluster(['a', 'b', 'c', 'd'], [['b', 'c']]), model, workload },
    solver,
  );
  assert.equal(
    ordered.plan?.stages.map(({ device }) => device),
    ['a', 'b', 'd', 'c'],
  );
  assert.equal(ordered.plan && relaysOf(ordered.plan), []);
  const star = cluster(['a', 'b', 'c'], [['b', 'c']]);
  const { plan } = SCHEDULERS['memory-ratio'].plan({ belief: star, model, workload }, solver);
  assert.equal(plan && relaysOf(plan), [{ from: 'b', to: 'c', via: ['a'] }]);
  if (plan === undefined) return assert.unreachable();
  // b → a → c costs two messages where b → c would cost one.
  const direct = predict({
    plan: createPlan({ ...plan, relays: [] }),
    model,
    workload,
    truth: cluster(['a', 'b', 'c'], []),
  });
  const link = direct.seconds.link;
  near(predict({ plan, model, workload, truth: star }).seconds.link, (link / 3) * 4);
});

test('a device that nothing connects to the head gets no work', () => {
  const belief = cluster(
    ['a', 'b', 'c'],
    [
      ['a', 'c'],
      ['b', 'c'],
    ],
  );
  const { plan } = SCHEDULERS['memory-ratio'].plan({ belief, model, workload }, solver);
  assert.equal(
    plan?.stages.map(({ device }) => device),
    ['a', 'b'],
  );
});

test('the scheduler sees a way over relays with the seconds of its links', () => {
  const belief = cluster(['a', 'b', 'c'], [['a', 'c']]);
  let seen: Cluster | undefined;
  withRelays(({ belief }) => {
    seen = belief;
    const windows = [{ device: 'a', layers: model.layers, gpuLayers: 0 }];
    return { plan: ringPlan({ scheduler: 'hand', head: 'a', rounds: 1, windows }) };
  })({ belief, model, workload }, solver);
  const link = seen?.link(
    0,
    seen.devices.findIndex(({ name }) => name === 'c'),
  );
  near(link?.latency ?? 0, 4e-3);
  near(link?.bandwidth ?? 0, 300e6 / 8 / 2);
});

test('tensor parallelism needs direct ways', () => {
  const belief = cluster(['a', 'b', 'c', 'd'], [['b', 'c']], '7 GiB');
  const scheduled = SCHEDULERS.dllama.plan({ belief, model, workload }, solver);
  assert.is(scheduled.plan, undefined);
  assert.match(
    'message' in scheduled ? scheduled.message : '',
    /tensor parallelism needs all devices of home to reach/,
  );
});

test.run();
