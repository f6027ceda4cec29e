import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createNamedModel, loadCatalogue, loadCluster } from '../../../datasets/load.ts';
import { createRingCosts } from '../../../engine/cost/ring-costs.ts';
import { createWorkload } from '../../../engine/model/workload.ts';
import { layOutWeights } from '../../../simulator/hardware/weights-layout.ts';

const catalogue = loadCatalogue();
const cluster = loadCluster('prima-home');

for (const ownFile of [false, true]) {
  for (const { shape } of catalogue) {
    test(`${shape.name}, ${ownFile ? 'own layers' : 'all layers'}: each layer ends exactly at the beginning of the next`, () => {
      const model = createNamedModel(catalogue, shape.name);
      const costs = createRingCosts(cluster, model, createWorkload());
      const stages = [{ device: 'D3', processor: 'cpu', from: 0, to: model.layers } as const];
      const weights = layOutWeights({ costs, stages, unified: false, isHead: true, outputInRam: true, ownFile });
      for (let index = 0; index + 1 < model.layers; index++) {
        assert.is(weights.layer(index)?.to, weights.layer(index + 1)?.from);
      }
      assert.is(weights.layer(model.layers - 1)?.to, weights.output?.from);
      assert.is(weights.output?.to, weights.lookup?.from);
      assert.is(weights.lookup?.to, weights.size);
    });
  }
}

test.run();
