import type { Stage } from '../../plan/plan.ts';

/** A chain of devices: seconds for this many layers on each, infinite where they don't fit. */
export interface ChainCase {
  readonly layers: number;
  readonly devices: number;
  /**
   * Seconds of the head, device 0, including embedding and output; `alone`: with all layers, the token never leaves.
   */
  readonly head: (layers: number) => number;
  readonly alone: number;
  /** Seconds of another device with one layer or more. */
  readonly device: (index: number, layers: number) => number;
  /** Seconds from one device to another. */
  readonly hop: (from: number, to: number) => number;
}

/**
 * The division of layers among the devices of a chain that takes the least time. A token visits the devices in order,
 * skips those without layers, and ends at the head. Exact, by dynamic programming over (last device with layers, layers
 * so far): D² L² steps for D devices and L layers.
 * @returns layers by device, or undefined where no division fits
 */
export function bestChain(
  parts: ChainCase,
): { readonly seconds: number; readonly layers: readonly number[] } | undefined {
  const { layers, devices, head, alone, device, hop } = parts;
  const size = layers + 1;
  /** Least seconds until `used` layers are done, the last on a given device; and the state before. */
  const best = new Float64Array(devices * size).fill(Number.POSITIVE_INFINITY);
  const before = new Int32Array(devices * size).fill(-1);
  const costs = Array.from({ length: devices }, (_, index) =>
    Array.from({ length: size }, (_, count) => (count === 0 || index === 0 ? 0 : device(index, count))),
  );
  for (let count = 0; count <= layers; count++) best[count] = head(count);
  for (let to = 1; to < devices; to++) {
    for (let from = 0; from < to; from++) {
      const way = hop(from, to);
      for (let used = 0; used < layers; used++) {
        const start = (best[from * size + used] as number) + way;
        if (start === Number.POSITIVE_INFINITY) continue;
        for (let count = 1; used + count <= layers; count++) {
          const seconds = start + (costs[to]?.[count] as number);
          const at = to * size + used + count;
          if (seconds >= (best[at] as number)) continue;
          best[at] = seconds;
          before[at] = from * size + used;
        }
      }
    }
  }
  let [seconds, end] = [alone, layers];
  for (let last = 1; last < devices; last++) {
    const total = (best[last * size + layers] as number) + hop(last, 0);
    if (total < seconds) [seconds, end] = [total, last * size + layers];
  }
  if (seconds === Number.POSITIVE_INFINITY) return undefined;
  const counts = new Array<number>(devices).fill(0);
  for (let at = end; at >= 0; ) {
    const previous = before[at] as number;
    const used = at % size;
    counts[Math.floor(at / size)] = used - (previous < 0 ? 0 : previous % size);
    at = previous;
  }
  return { seconds, layers: counts };
}

/** The stages of a chain: on each device first the layers on its CPU, then those on its GPU, as in HELM. */
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
