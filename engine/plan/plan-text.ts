import { type Plan, planShares } from './plan.ts';

/** `D3 12+30, D1 5`: layers on CPU and GPU, in the order in which a token visits the devices. */
export function layersText(plan: Plan): string {
  const layers = planShares(plan).map(({ device, cpuLayers, gpuLayers }) =>
    gpuLayers === 0 ? `${device} ${cpuLayers}` : `${device} ${cpuLayers}+${gpuLayers}`,
  );
  return layers.join(', ');
}
