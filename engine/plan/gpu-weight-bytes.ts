import type { Model } from '../model/model.ts';
import type { Plan } from './plan.ts';

/** Bytes of weights that a plan keeps on a device's GPU; a tied matrix counts once where it has both ends. */
export function gpuWeightBytes(plan: Plan, model: Model, device: string): number {
  const onGpu = (place: { readonly device: string; readonly processor: string }): boolean =>
    place.device === device && place.processor === 'gpu';
  const layers = plan.stages.filter(onGpu).reduce((sum, { from, to }) => sum + to - from, 0);
  const output = onGpu(plan.output) ? model.output.bytes : 0;
  const shared = model.tiedEmbeddings && output > 0;
  const embedding = onGpu(plan.embedding) && !shared ? model.embedding.bytes : 0;
  return layers * model.layer.bytes + embedding + output;
}
