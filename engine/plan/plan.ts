import type { ProcessorKind } from '../hardware/device.ts';

/** A place of computation. */
export interface Place {
  readonly device: string;
  readonly processor: ProcessorKind;
}

/** A run of layers on one processor: `from` up to, not including, `to`. */
export interface Stage extends Place {
  readonly from: number;
  readonly to: number;
}

/** What a device does with its mapped weights beyond what its OS does. */
export interface WeightsPolicy {
  /**
   * How the layers of its next window are asked for while others compute: `none` (page faults load them), `willneed`
   * (the OS is advised; prima.cpp), `populate` (a helper thread reads them in).
   */
  readonly prefetch: 'none' | 'willneed' | 'populate';
  /**
   * What becomes of a window after its turn: `none` (the OS decides), `drop` (its pages are given back), `pinned` (the
   * first `pinnedBytes` of the device's weights, spread evenly over its windows, stay for good; the rest is given back).
   */
  readonly release: 'none' | 'drop' | 'pinned';
  /** Bytes; 0 unless `release` is `pinned`. */
  readonly pinnedBytes: number;
}

export const NO_WEIGHTS_POLICY: WeightsPolicy = { prefetch: 'none', release: 'none', pinnedBytes: 0 };

/**
 * Which layers run where, in what order: the one thing that predictions, simulations and real runs all take. Plain
 * data: JSON in, JSON out.
 */
export interface Plan {
  /** The scheduler that made it, or `hand`. */
  readonly scheduler: string;
  /** k: how often a token goes around the ring. */
  readonly rounds: number;
  /** In the order in which a token visits them, over all rounds. */
  readonly stages: readonly Stage[];
  /** Where the token is embedded; its device is the head of the ring. */
  readonly embedding: Place;
  /** Where the output layer runs. */
  readonly output: Place;
  /** By device name; a device that is not named leaves all to its OS. */
  readonly weights: Readonly<Record<string, WeightsPolicy>>;
  /** `with-layers`: each layer's keys and values lie where the layer runs; `host`: all in RAM (HELM's KV offload). */
  readonly kvCache: 'with-layers' | 'host';
}

/** A device's share of a plan, over all rounds. */
export interface Share {
  readonly device: string;
  readonly cpuLayers: number;
  readonly gpuLayers: number;
  /** Visits of a token to the device. */
  readonly windows: number;
}

/** The share of every device that holds layers, in the order of the first visit. */
export function planShares(plan: Plan): Share[] {
  const shares = new Map<string, { cpuLayers: number; gpuLayers: number; windows: number }>();
  plan.stages.forEach((stage, index) => {
    const share = shares.get(stage.device) ?? { cpuLayers: 0, gpuLayers: 0, windows: 0 };
    if (stage.processor === 'cpu') share.cpuLayers += stage.to - stage.from;
    else share.gpuLayers += stage.to - stage.from;
    if (plan.stages[index - 1]?.device !== stage.device) share.windows += 1;
    shares.set(stage.device, share);
  });
  return [...shares].map(([device, share]) => ({ device, ...share }));
}
