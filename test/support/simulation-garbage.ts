import { getHeapSpaceStatistics } from 'node:v8';
import { createNamedModel, loadCatalogue, loadCluster } from '../../datasets/load.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import { optimal } from '../../engine/schedule/exact/optimal.ts';
import { simulate } from '../../simulator/simulate.ts';

/** Prints the bytes that each simulation leaves in the old generation of the heap: the median of batches. */
const model = createNamedModel(loadCatalogue(), 'Llama-3-70B');
const cluster = loadCluster('prima-home');
const workload = createWorkload({ context: 1024, promptTokens: 1, outputTokens: 2 });
const { plan } = optimal({ belief: cluster, model, workload, reclaim: 'lru' });
const BATCHES = 9;
const RUNS = 100;

const oldBytes = (): number =>
  getHeapSpaceStatistics().find(({ space_name: name }) => name === 'old_space')?.space_used_size ?? Number.NaN;

const left = Array.from({ length: BATCHES }, () => {
  const before = oldBytes();
  for (let run = 0; run < RUNS; run++) simulate({ cluster, model, plan: plan as Plan, workload, record: 'tokens' });
  return (oldBytes() - before) / RUNS;
});
console.log(left.sort((a, b) => a - b)[Math.floor(BATCHES / 2)]);
