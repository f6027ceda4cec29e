import type { Stage } from '../../plan/plan.ts';

/** Stages in order: of each device first the layers on its CPU, then those on its GPU, as HELM has them. */
export function splitStages(
  parts: readonly { readonly device: string; readonly layers: number; readonly gpuLayers: number }[],
): Stage[] {
  const stages: Stage[] = [];
  let from = 0;
  for (const { device, layers, gpuLayers } of parts) {
    const boundary = from + layers - gpuLayers;
    if (boundary > from) stages.push({ device, processor: 'cpu', from, to: boundary });
    if (gpuLayers > 0) stages.push({ device, processor: 'gpu', from: boundary, to: boundary + gpuLayers });
    from += layers;
  }
  return stages;
}
