import { loadCatalogue, loadCluster } from '../../datasets/load.ts';
import type { Model } from '../../engine/model/model.ts';
import { createW4a16Model } from '../../engine/model/w4a16.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import { tensorPartition } from '../../engine/schedule/tensor-partition/tensor-partition.ts';
import { simulate } from '../../simulator/simulate.ts';
import { measure } from './measure.ts';
import type { Result } from './planner.ts';

const BOUND = 2.5e-3;
const LENGTHS = [64, 135, 300, 525, 1000];
const TOKENS = 20;

function model(name: string): Model {
  const found = loadCatalogue().find(({ shape }) => shape.name === name);
  if (found === undefined) throw new RangeError(`no model ${name}`);
  return createW4a16Model(found.shape);
}

/**
 * Times HeteroLLM's solver for each model and prompt length (the slower of both kinds), and a token of the 8B on the
 * simulated chip.
 */
export function benchChip(): Result[] {
  const cluster = loadCluster('hetero-8gen3');
  const models = ['Llama-3-8B', 'InternLM2-1.8B'].map(model);
  const solve = (given: Model, promptTokens: number): Plan =>
    tensorPartition({ belief: cluster, model: given, workload: createWorkload({ promptTokens, context: 256 }) })
      .plan as Plan;
  const solving = Math.max(
    ...models.flatMap((given) => LENGTHS.map((length) => measure(() => solve(given, length), 100, 50).median)),
  );
  const [largest] = models as [Model];
  const plan = solve(largest, 300);
  const seconds = (outputTokens: number): number => {
    const workload = createWorkload({ promptTokens: 300, outputTokens, context: 256 });
    const run = () => simulate({ cluster, model: largest, plan, workload, record: 'tokens' });
    return measure(run, 15, 5).median;
  };
  const token = (seconds(1 + TOKENS) - seconds(1)) / TOKENS;
  const line = (what: string, took: number): Result => ({
    what,
    measured: `${(1e3 * took).toFixed(2)} ms`,
    target: 'at most 2.5 ms',
    met: took <= BOUND,
  });
  return [
    line(`tensor-partition, a model and a length, worst of ${models.length * LENGTHS.length}`, solving),
    line('simulate, a token of Llama-3-8B on a chip’s GPU and NPU', token),
  ];
}
