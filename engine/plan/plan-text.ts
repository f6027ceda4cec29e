import { type Plan, planShares } from './plan.ts';

/**
 * `D3 12+30, D1 5`: layers on CPU and GPU, in the order in which a token visits the devices; `D3 0+36, experts of 20 on the
 * CPU` where the CPU has experts of GPU layers.
 */
export function layersText(plan: Plan): string {
  const layers = planShares(plan).map(({ device, cpuLayers, gpuLayers }) =>
    gpuLayers === 0 ? `${device} ${cpuLayers}` : `${device} ${cpuLayers}+${gpuLayers}`,
  );
  const crossed = plan.stages.reduce((sum, { cpuExperts = 0 }) => sum + cpuExperts, 0);
  return [...layers, ...(crossed === 0 ? [] : [`experts of ${crossed} on the CPU`])].join(', ');
}
