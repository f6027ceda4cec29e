import type { Plan } from '../engine/plan/plan.ts';
import { layersText } from '../engine/plan/plan-text.ts';
import type { RunnableAnswer } from './answer.ts';

/** Layers on CPU and GPU by device, or the devices among which tensors are cut. */
export function placesText(plan: Plan): string {
  if (plan.kind !== 'tensor-parallel') return layersText(plan);
  const devices = plan.stages[0].cut.map(({ device }) => device);
  return `every tensor cut among ${devices.join(', ')}`;
}

/** How long a context may become, and what limits it. */
export function contextText({ longestContext, model: { trainedContext } }: RunnableAnswer): string {
  if (trainedContext === undefined || longestContext < trainedContext)
    return `up to ${longestContext} tokens with this plan`;
  if (longestContext === trainedContext) return `up to ${longestContext} tokens, which the model was trained for`;
  return `${longestContext} tokens fit, but the model was trained for ${trainedContext}`;
}
