import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { idleWorkerLines } from '../../commands/idle-workers.ts';
import { createNamedModel, loadCatalogue, loadCluster } from '../../datasets/load.ts';
import { createCluster } from '../../engine/hardware/cluster.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import { ringPlan } from '../../engine/plan/ring-plan.ts';
import type { RingPlanning } from '../../engine/ring/head/planning.ts';
import { loadIntegerSolver } from '../../engine/schedule/integer-solver.ts';

const cluster = loadCluster('home-example');
const model = createNamedModel(loadCatalogue(), 'Llama-3-8B');
const names = cluster.devices.map(({ name }) => name);
const onDesktop = (device: string, layers: number): Plan =>
  ringPlan({
    ...{ scheduler: 'optimal', head: 'desktop', rounds: 1 },
    windows: [
      { device: 'desktop', layers: model.layers - layers, gpuLayers: 0 },
      { device, layers, gpuLayers: 0 },
    ],
  });

async function planning(given: Partial<RingPlanning> = {}): Promise<RingPlanning> {
  const scheduling = { cluster, scheduler: 'optimal', solver: await loadIntegerSolver(1) } as const;
  return {
    ...{ devices: names, model, context: 512, kvFormat: 'F16', plan: undefined, scheduling },
    ...{ requested: { prefetch: undefined, release: undefined }, ...given },
  };
}

test('a worker without layers is named, with what a layer and the hops would take, and what to do', async () => {
  const lines = idleWorkerLines(onDesktop('macbook', 4), await planning(), names);
  assert.is(lines.length, 1);
  assert.match(
    lines[0] ?? '',
    /^laptop gets no layer: optimal finds no faster plan with it: a layer takes [\d.]+ ms there and [\d.]+ ms on (desktop|macbook), and two hops add [\d.]+ ms to a token; to use it give a plan \(--plan\), or --scheduler memory-ratio; or leave it out$/,
  );
  assert.equal(idleWorkerLines(onDesktop('macbook', 4), await planning(), ['desktop', 'macbook']), []);
});

test('a worker whose memory holds no layer is told so', async () => {
  const devices = cluster.devices.map((one) =>
    one.name === 'laptop' ? { ...one, memory: { ...one.memory, available: 300 * 2 ** 20 } } : one,
  );
  const small = createCluster({ ...cluster, devices });
  const { scheduling } = await planning();
  const asked = await planning({ scheduling: scheduling && { ...scheduling, cluster: small } });
  assert.match(
    idleWorkerLines(onDesktop('macbook', 4), asked, names)[0] ?? '',
    /^laptop gets no layer: after buffers it has 44\.0 MiB of memory left, and a layer with its KV cache takes \d+ MiB; to use it free memory there, or give a shorter context \(--context\); or leave it out$/,
  );
});

test('a scheduler that does not look for the fastest plan is named with its rule', async () => {
  const { scheduling } = await planning();
  const alone = await planning({ scheduling: scheduling && { ...scheduling, scheduler: 'single-device' } });
  assert.equal(idleWorkerLines(onDesktop('macbook', 0), alone, ['desktop', 'macbook']), [
    'macbook gets no layer: single-device gives the head all layers, and of 32 layers it gets none; to use it give a plan (--plan), or --scheduler memory-ratio; or leave it out',
  ]);
});

test('memory-ratio is not proposed for a worker that gets no layer of it', async () => {
  const devices = cluster.devices.map((one) =>
    one.name === 'laptop' ? { ...one, memory: { ...one.memory, available: 500 * 2 ** 20 } } : one,
  );
  const { scheduling } = await planning();
  const given = { ...scheduling!, cluster: createCluster({ ...cluster, devices }), scheduler: 'memory-ratio' } as const;
  assert.equal(idleWorkerLines(onDesktop('macbook', 4), await planning({ scheduling: given }), names), [
    'laptop gets no layer: memory-ratio gives layers in proportion to free memory, and of 32 layers it gets none; to use it give a plan (--plan); or leave it out',
  ]);
});

test('a given plan is named as the reason', async () => {
  const plan = onDesktop('macbook', 4);
  const asked = await planning({ plan: { file: 'mine.json', plan } });
  assert.equal(idleWorkerLines(plan, asked, names), [
    'laptop gets no layer: mine.json gives it none; change the plan, or leave it out',
  ]);
});

test.run();
