import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createNamedModel, loadCatalogue, loadCluster } from '../../../../datasets/load.ts';
import { createWorkload } from '../../../../engine/model/workload.ts';
import { layerStreaming } from '../../../../engine/schedule/baselines/layer-streaming.ts';
import { hostNeeds, needGrowth } from '../../../../experiments/papers/helm/conflicts.ts';

test('what is streamed is offloaded, of as much RAM as is installed', () => {
  const cluster = loadCluster('helm-3090');
  const model = createNamedModel(loadCatalogue(), 'Qwen3-14B');
  const problem = { belief: cluster, model, workload: createWorkload({ context: 256 }) };
  const { plan } = layerStreaming(problem, { variant: 'accelerate' });
  const { from, to } = plan?.stages.at(-1) ?? { from: 0, to: 0 };
  assert.ok(plan && to - from > 0);
  const needs = hostNeeds({ cluster, model }, plan);
  assert.is(needs.offloaded, (to - from) * model.layer.bytes);
  assert.is(needs.ram, 125 * 2 ** 30);
});

test('the need that grows most counts', () => {
  const from = { offloaded: 10, model: 20, layer: 1, ram: 16 };
  assert.equal(needGrowth(from, { offloaded: 30, model: 80, layer: 2, ram: 160 }), { needs: 4, ram: 10 });
});

test.run();
