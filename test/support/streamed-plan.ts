import { createPlan } from '../../engine/plan/create-plan.ts';
import type { Plan, Stage } from '../../engine/plan/plan.ts';

/** A plan for the GPU of the device `pc`: runs of layers that stay there, or are streamed over the host link. */
export const streamedPlan = (...runs: [layers: number, streamed?: Stage['streamed']][]): Plan => {
  let from = 0;
  const stages = runs.map(([layers, streamed]): Stage => {
    from += layers;
    return { device: 'pc', processor: 'gpu', from: from - layers, to: from, ...(streamed && { streamed }) };
  });
  return createPlan({
    scheduler: 'hand',
    rounds: 1,
    stages,
    embedding: { device: 'pc', processor: 'cpu' },
    output: { device: 'pc', processor: 'gpu' },
    weights: {},
    kvCache: 'with-layers',
  });
};
