import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createNamedModel, loadCatalogue, loadCluster } from '../../../../datasets/load.ts';
import { createWorkload } from '../../../../engine/model/workload.ts';
import { planShares } from '../../../../engine/plan/plan.ts';
import { ringOrAlone } from '../../../../experiments/papers/prima/ring-or-alone.ts';

const workload = createWorkload({ context: 134, reservedContext: 1024 });

function planned(cluster: string, model: string) {
  const { plan } = ringOrAlone({
    belief: loadCluster(cluster),
    model: createNamedModel(loadCatalogue(), model),
    workload,
  });
  assert.ok(plan);
  const holders = planShares(plan).filter(({ cpuLayers, gpuLayers }) => cpuLayers + gpuLayers > 0);
  return { holders: holders.length, output: plan.output.processor };
}

test('a model that fits into the head’s GPU runs there alone, output layer and all', () => {
  assert.equal(planned('prima-home', 'Llama-3-8B'), { holders: 1, output: 'gpu' });
});

test('in a ring the head’s CPU has the output layer', () => {
  assert.equal(planned('prima-a5', 'Llama-3-14B'), { holders: 2, output: 'cpu' });
});
test.run();
