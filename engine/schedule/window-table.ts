import type { ReclaimPolicy } from '../cost/reclaim.ts';
import { type DeviceCosts, deviceSeconds, type RingCosts } from '../cost/ring-costs.ts';
import type { ProcessorKind } from '../hardware/device.ts';

/** One device's best choice for every window size under k rounds, without its links. */
export interface WindowTable {
  /** Seconds per token with a window of w layers, at index w from 0; infinite where it can't be. */
  readonly seconds: Float64Array;
  /** n: GPU layers of that window. */
  readonly gpuLayers: Int32Array;
  /** Head only: the output layer runs on the GPU (1) or the CPU (0). */
  readonly outputOnGpu: Uint8Array;
}

export interface WindowChoices {
  readonly reclaim: ReclaimPolicy;
  /** Processors that the head's output layer may run on; undefined for other devices. */
  readonly outputs: readonly ProcessorKind[] | undefined;
  /** A window of no layers is a choice (the head's, when it need not hold any). */
  readonly mayBeEmpty: boolean;
}

/**
 * The best split between GPU and CPU for every window size, in closed form: a device's time is piecewise linear in the
 * number of GPU layers, so the best one lies at an end or where the RAM begins to overflow.
 */
export function windowTable(
  costs: RingCosts,
  device: DeviceCosts,
  rounds: number,
  choices: WindowChoices,
): WindowTable {
  const largest = costs.layers / rounds;
  const seconds = new Float64Array(largest + 1).fill(Number.POSITIVE_INFINITY);
  const gpuLayers = new Int32Array(largest + 1);
  const outputOnGpu = new Uint8Array(largest + 1);
  const load = {
    cpuLayers: 0,
    gpuLayers: 0,
    output: undefined as ProcessorKind | undefined,
    prefetches: true,
    kvInRam: false,
  };
  const perLayer = costs.layerBytes + costs.kvBytes;
  for (const output of choices.outputs ?? [undefined]) {
    if (output === 'gpu' && device.gpu === undefined) continue;
    load.output = output;
    const outputBytes = output === 'gpu' || (output === 'cpu' && device.kind === 'macos-metal') ? costs.outputBytes : 0;
    const room =
      device.gpu === undefined ? 0 : Math.max(0, Math.floor((device.gpuRoom - outputBytes) / (perLayer * rounds)));
    const fixed =
      device.ramBuffers +
      (output === undefined ? 0 : costs.embeddingRowBytes + (output === 'cpu' ? costs.outputBytes : 0));
    const held = (device.available - fixed) / (perLayer * rounds);
    const pinnable = costs.kvBytes === 0 ? largest : (device.available - device.ramBuffers) / (costs.kvBytes * rounds);
    for (let window = choices.mayBeEmpty ? 0 : 1; window <= largest; window++) {
      const most = Math.min(window, room);
      const consider = (gpu: number): void => {
        if (gpu < 0 || gpu > most) return;
        load.gpuLayers = gpu * rounds;
        load.cpuLayers = (window - gpu) * rounds;
        const found = deviceSeconds(costs, device, load, window === 0 ? 0 : rounds, choices.reclaim);
        if (found < (seconds[window] as number)) {
          seconds[window] = found;
          gpuLayers[window] = gpu;
          outputOnGpu[window] = output === 'gpu' ? 1 : 0;
        }
      };
      consider(most);
      if (device.gpuLayer <= device.cpuLayer || most === 0) continue;
      // The GPU is slower than the CPU: use it only against overflow, if at all.
      consider(0);
      for (const edge of [Math.ceil(window - held), Math.ceil(window - pinnable)]) {
        for (let gpu = edge - 1; gpu <= edge + 1; gpu++) consider(gpu);
      }
    }
  }
  return { seconds, gpuLayers, outputOnGpu };
}
