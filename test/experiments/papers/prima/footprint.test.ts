import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createNamedModel, loadCatalogue, loadClusterFile } from '../../../../datasets/load.ts';
import { withDevices } from '../../../../engine/hardware/cluster.ts';
import { createWorkload } from '../../../../engine/model/workload.ts';
import { planShares } from '../../../../engine/plan/plan.ts';
import { exo } from '../../../../engine/schedule/baselines/exo.ts';
import { tensorParallel } from '../../../../engine/schedule/baselines/tensor-parallel.ts';
import { footprintsOf } from '../../../../experiments/papers/prima/footprint.ts';
import { near } from '../../../support/near.ts';

const GIB = 2 ** 30;
const { cluster } = loadClusterFile('prima-home');
const model = createNamedModel(loadCatalogue(), 'Llama-3-8B');
const workload = createWorkload({ promptTokens: 6, outputTokens: 2, context: 1024, reservedContext: 1024 });
const problem = { belief: cluster, model, workload };

test('exo: a layer takes 16 bits of RAM on Linux and 4 on macOS (App. A.8)', () => {
  const members = withDevices(cluster, ['D1', 'D2', 'D3']);
  const { plan } = exo({ ...problem, belief: members });
  assert.ok(plan);
  const held = footprintsOf('exo', { plan, cluster: members, model });
  for (const { device, cpuLayers, gpuLayers } of planShares(plan)) {
    const bytes = (cpuLayers + gpuLayers) * 218.1e6 * (device === 'D1' ? 0.5625 : 2);
    near((held.get(device)?.bytes ?? 0) / GIB, bytes / GIB, 0.01);
  }
  assert.is(held.size, 3);
  assert.not.ok([...held.values()].some(({ isExceeded }) => isExceeded));
});

test('dllama: the head holds its part and the whole file, which the system can reclaim; the others a part', () => {
  const { plan } = tensorParallel(problem);
  assert.ok(plan);
  const held = footprintsOf('dllama', { plan, cluster, model });
  const head = held.get(plan.embedding.device)?.bytes ?? 0;
  const other = Math.min(...[...held.values()].map(({ bytes }) => bytes));
  // 32 layers in Q4_0 and the embedding in 32 bits: a file of 6.3 GB.
  near((head - other) / 1e9, 6.32 + 2.4, 0.15);
  near(other / 1e9, (32 * 218.1e6 * 0.5625) / 4 / 1e9, 0.01);
  assert.not.ok([...held.values()].some(({ isExceeded }) => isExceeded));
});

test.run();
