import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createNamedModel, loadCatalogue, loadCluster } from '../../datasets/load.ts';
import { type ExpertsPolicy, USUAL_EXPERTS } from '../../engine/experts/experts-policy.ts';
import { type Cluster, withDevices } from '../../engine/hardware/cluster.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import { createPlan } from '../../engine/plan/create-plan.ts';
import type { Plan, Stage } from '../../engine/plan/plan.ts';
import { FIT_POLICY, type WeightsPolicy } from '../../engine/plan/weights-policy.ts';
import { withKeptExperts } from '../../engine/schedule/kept-experts.ts';

const model = createNamedModel(loadCatalogue(), 'Qwen3-30B-A3B');
const workload = createWorkload({ context: 1024 });
const GIB = 2 ** 30;
const home = loadCluster('prima-home');
/** Two devices of the home, with so many GiB of memory free. */
const clusterOf = (available: Readonly<Record<string, number>>, hasGpus = false): Cluster => {
  const devices = home.devices.map((device) => ({
    ...{ ...device, gpu: hasGpus ? device.gpu : undefined },
    memory: { ...device.memory, available: (available[device.name] ?? 1) * GIB },
  }));
  return withDevices({ ...home, devices }, Object.keys(available));
};

const place = (device: string, processor: 'cpu' | 'gpu' = 'cpu') => ({ device, processor });
const planOf = (stages: readonly Stage[], policies: Readonly<Record<string, ExpertsPolicy>>): Plan =>
  createPlan({
    ...{ scheduler: 'hand', rounds: 1, kvCache: 'with-layers', stages },
    ...{ embedding: place('D3'), output: place('D3') },
    weights: Object.fromEntries(
      Object.entries(policies).map(([device, experts]): [string, WeightsPolicy] => [
        device,
        { prefetch: 'none', release: 'none', experts },
      ]),
    ),
  });
const layers = (device: string, from: number, to: number): Stage => ({ ...place(device), from, to });
const expertsOf = (cluster: Cluster, plan: Plan, earlier: Plan) => {
  const { weights } = withKeptExperts({ belief: cluster, model, workload }, plan, earlier);
  return Object.fromEntries(Object.entries(weights).map(([device, own]) => [device, own.experts]));
};

const LFU: ExpertsPolicy = { ...USUAL_EXPERTS, slots: 24, eviction: 'lfu' };
const THREE = planOf([layers('D3', 0, 8), layers('D2', 8, 24), layers('D1', 24, 48)], { D3: LFU, D1: USUAL_EXPERTS });

test('a device keeps its policy, and its slots where these have room', () => {
  const cluster = clusterOf({ D3: 5, D2: 20 });
  const left = planOf([layers('D3', 0, 12), layers('D2', 12, 48)], {});
  assert.equal(expertsOf(cluster, left, THREE), { D3: LFU });
});

test('more layers than its slots have room for make them as many as fit', () => {
  const left = planOf([layers('D3', 0, 40), layers('D2', 40, 48)], {});
  assert.equal(expertsOf(clusterOf({ D3: 3, D2: 20 }), left, THREE), { D3: { ...LFU, slots: 'fit' } });
});

test('a device without a policy takes that of another, if it would read weights for every token', () => {
  const left = planOf([layers('D3', 0, 8), layers('D2', 8, 48)], {});
  assert.equal(expertsOf(clusterOf({ D3: 3, D2: 3 }), left, THREE), { D3: LFU, D2: { ...LFU, slots: 'fit' } });
});

test('where not even a token’s experts fit, and on a GPU, the plan stays as it was scheduled', () => {
  const left = planOf([layers('D3', 0, 48)], {});
  const scheduled = { ...left, weights: { D3: FIT_POLICY } };
  assert.equal(expertsOf(clusterOf({ D3: 1, D2: 1 }), scheduled, THREE), { D3: undefined });
  const onGpu = planOf([{ ...place('D3', 'gpu'), from: 0, to: 4 }, layers('D3', 4, 48)], {});
  assert.equal(expertsOf(clusterOf({ D3: 5, D2: 8 }, true), onGpu, THREE), {});
  const none = planOf([layers('D3', 0, 8), layers('D2', 8, 48)], {});
  assert.is(withKeptExperts({ belief: clusterOf({ D3: 5, D2: 8 }), model, workload }, left, none), left);
});

test.run();
