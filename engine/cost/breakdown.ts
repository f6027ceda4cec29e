import type { ProcessorKind } from '../hardware/device.ts';

/** Causes that time is charged to. `overhead` is launch and dispatch time per layer. */
export const CAUSES = ['compute', 'memory', 'kvCopy', 'deviceCopy', 'disk', 'link', 'overhead'] as const;
export type Cause = (typeof CAUSES)[number];

/** Seconds by cause. */
export type Seconds = Record<Cause, number>;

/** The seconds of one stage of the plan, or of the output layer (`layers` 0). */
export interface StageBreakdown {
  readonly device: string;
  readonly processor: ProcessorKind;
  readonly layers: number;
  /** A text for readers where the number of layers doesn't describe the stage, as with a part of every layer. */
  readonly name?: string;
  readonly output: boolean;
  readonly seconds: Readonly<Seconds>;
}

export interface DeviceBreakdown {
  readonly device: string;
  readonly cpuLayers: number;
  readonly gpuLayers: number;
  /** Windows that the device runs for a token. */
  readonly windows: number;
  readonly seconds: Readonly<Seconds>;
  /** Bytes reloaded from disk for every token. */
  readonly reloadedBytes: number;
  /**
   * Bytes of weights, KV cache and buffers that the plan places in RAM; mapped weights beyond `ramAvailable` are
   * reloaded.
   */
  readonly ramBytes: number;
  readonly ramAvailable: number;
  readonly vramBytes: number;
  readonly vramAvailable: number;
  /** KV cache, buffers and pinned weights: what the operating system can't reclaim. */
  readonly nonReclaimableBytes: number;
}

/** A reason why a plan can't run: a memory that is too small for what can't be reclaimed. */
export interface Infeasibility {
  readonly device: string;
  readonly memory: 'ram' | 'vram';
  readonly neededBytes: number;
  readonly availableBytes: number;
  readonly reason: string;
}

/** The infeasibility of a device whose `needs` take `neededBytes`. */
export function infeasibility(
  device: string,
  memory: Infeasibility['memory'],
  needs: string,
  neededBytes: number,
  availableBytes: number,
): Infeasibility {
  const reason = `${device}: ${needs} need ${gibibytes(neededBytes)}, ${gibibytes(availableBytes)} are available`;
  return { device, memory, neededBytes, availableBytes, reason };
}

function gibibytes(bytes: number): string {
  return `${(bytes / 2 ** 30).toFixed(2)} GiB`;
}

/** The predicted seconds of a token by device, stage and cause. */
export interface Breakdown {
  /** TPOT: the sum of `seconds` (prima.cpp Eq. 11, HELM Eq. 4.7). */
  readonly tokenSeconds: number;
  /** Empty if the plan can run. */
  readonly infeasible: readonly Infeasibility[];
  /** By cause, over all devices. */
  readonly seconds: Readonly<Seconds>;
  readonly devices: readonly DeviceBreakdown[];
  readonly stages: readonly StageBreakdown[];
  readonly reloadedBytes: number;
}

export function noSeconds(): Seconds {
  return { compute: 0, memory: 0, kvCopy: 0, deviceCopy: 0, disk: 0, link: 0, overhead: 0 };
}

/** Adds `part` to `total` in place. */
export function addSeconds(total: Seconds, part: Readonly<Seconds>): void {
  total.compute += part.compute;
  total.memory += part.memory;
  total.kvCopy += part.kvCopy;
  total.deviceCopy += part.deviceCopy;
  total.disk += part.disk;
  total.link += part.link;
  total.overhead += part.overhead;
}

export function totalSeconds(seconds: Readonly<Seconds>): number {
  const { compute, memory, kvCopy, deviceCopy, disk, link, overhead } = seconds;
  return compute + memory + kvCopy + deviceCopy + disk + link + overhead;
}
