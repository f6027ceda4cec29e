import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { RingPlanningParts } from '../../commands/ring-planning.ts';
import { readRing, ringPlanning } from '../../commands/ring-planning.ts';
import { createNamedModel, loadCatalogue, loadCluster } from '../../datasets/load.ts';
import { withoutGpus } from '../../engine/hardware/cluster.ts';
import { parseCluster } from '../../engine/hardware/parse-cluster.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import { ringWindows } from '../../engine/plan/ring-windows.ts';
import type { RingHead } from '../../engine/ring/head/head.ts';
import { RING_SCHEDULERS } from '../../engine/ring/head/planning.ts';
import { loadIntegerSolver } from '../../engine/schedule/integer-solver.ts';
import { SCHEDULERS } from '../../engine/schedule/registry.ts';
import { hearthHere } from '../support/run-script.ts';

const cluster = loadCluster('home-example');
const model = createNamedModel(loadCatalogue(), 'Llama-3-8B');

test('every scheduler that hearth run offers plans what a ring carries out', async () => {
  const solver = await loadIntegerSolver(10);
  const kvCache = 'with-layers';
  const problem = { belief: cluster, model, workload: createWorkload({ context: 512 }), kvCache } as const;
  for (const name of RING_SCHEDULERS.filter((one) => one !== 'expert-parallel')) {
    const { plan } = SCHEDULERS[name].plan(problem, solver);
    if (plan === undefined) return assert.unreachable(name);
    assert.is(
      ringWindows(plan).reduce((sum, { from, to }) => sum + to - from, 0),
      model.layers,
      name,
    );
  }
});

test('experts are divided by a scheduler of hearth run, and a model without any is refused in a line', async () => {
  const solver = await loadIntegerSolver(10);
  const workload = createWorkload({ context: 512 });
  const mixture = createNamedModel(loadCatalogue(), 'OLMoE-1B-7B');
  const { plan } = SCHEDULERS['expert-parallel'].plan({ belief: cluster, model: mixture, workload }, solver);
  if (plan?.kind !== 'expert-parallel') return assert.unreachable();
  const held = plan.holders.flatMap(({ experts }) => experts[0] ?? []);
  assert.is(new Set(held).size, 64);
  const dense = SCHEDULERS['expert-parallel'].plan({ belief: cluster, model, workload }, solver);
  assert.ok(dense.plan === undefined && dense.reason === 'no-experts');
});

test('GPUs of a cluster that a ring can’t use are named', async () => {
  const lines: string[] = [];
  const { scheduling } = await ringPlanning({
    request: { scheduler: 'optimal', requested: {}, saveCluster: undefined } as unknown as RingPlanningParts['request'],
    given: undefined,
    file: { head: 'desktop', members: [], cluster },
    head: { gpus: () => new Map([['macbook', 'M1']]) } as unknown as RingHead,
    ...{ model, context: 512, kvFormat: 'F16', profile: () => Promise.reject(new Error('not needed')) },
    log: (line) => void lines.push(line),
  });
  assert.is(scheduling?.scheduler, 'optimal');
  assert.equal(lines, [
    'plans without the GPU of desktop: no GPU is used there; start it with --device, as hearth inspect --devices names it',
  ]);
  const withGpu = scheduling?.cluster.devices.filter(({ gpu }) => gpu !== undefined).map(({ name }) => name);
  assert.equal(withGpu, ['macbook']);
});

test('a device that nothing connects is left out, and one line says so', async () => {
  const text = readFileSync('datasets/clusters/home-example.json', 'utf8');
  const [head = '', ...others] = cluster.devices.map(({ name }) => name);
  const [alone = ''] = others;
  const apart = [head, ...others.slice(1)].map((name) => ({ between: [alone, name], reachable: false }));
  const json = JSON.parse(text);
  const cut = parseCluster(JSON.stringify({ ...json, links: { ...json.links, pairs: apart } }), 'cut.json');
  const lines: string[] = [];
  await ringPlanning({
    request: { scheduler: 'optimal', requested: {}, saveCluster: undefined } as unknown as RingPlanningParts['request'],
    given: undefined,
    file: { head, members: [], cluster: withoutGpus(cut, () => true) },
    head: { gpus: () => new Map() } as unknown as RingHead,
    ...{ model, context: 512, kvFormat: 'F16', profile: () => Promise.reject(new Error('not needed')) },
    log: (line) => void lines.push(line),
  });
  const expected = `plans without ${alone}: no link leads there from ${head}, the head, directly or over others`;
  assert.equal(lines, [expected]);
  const folder = mkdtempSync(join(tmpdir(), 'hearth-'));
  try {
    const file = join(folder, 'cut.json');
    writeFileSync(file, JSON.stringify({ ...json, links: { ...json.links, pairs: apart } }));
    const { code, stderr, stdout } = await hearthHere('plan', '--cluster', file, '--model', 'Llama-3-8B');
    assert.equal([code, stderr], [0, `${expected}\n`]);
    assert.match(stdout, /^plan /m);
    assert.not.match(stdout, new RegExp(`^plan .*${alone}`, 'm'));
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('a worker that is given twice is named', () => {
  const workers = ['tcp://10.0.0.1:7400', 'tcp://10.0.0.2:7400', 'tcp://10.0.0.1:7400'];
  assert.throws(
    () => readRing({ cluster: undefined, workers, keys: undefined }),
    /^--worker: tcp:\/\/10\.0\.0\.1:7400 is given twice; give each worker once$/,
  );
});

test.run();
