/** How many numbers of GPU layers are tried per window: `all`, or so many, evenly from none to what fits. */
export type GpuLevels = 'all' | number;

/**
 * Numbers of GPU layers (n) to try in a window of `layers`, ascending and each once: all from 0 to what fits, or
 * `levels` of them in even steps; a single level is as many as fit.
 * @param room layers per window that the GPU holds
 */
export function gpuChoices(layers: number, room: number, levels: GpuLevels): number[] {
  const most = Math.min(layers, room);
  if (levels === 1) return [most];
  const steps = levels === 'all' ? most : Math.min(most, levels - 1);
  if (steps === 0) return [0];
  return Array.from({ length: steps + 1 }, (_, index) => Math.round((index * most) / steps));
}
