import { formatBytes, formatPercent } from '../engine/input/format.ts';
import type { DeviceHeldMemory } from '../engine/ring/head/inquiries.ts';

/**
 * A device's memory pressure (prima.cpp 4.3): what its operating system can't reclaim, over its RAM or its `--memory`.
 * The plan counts KV caches, activations and pinned weights; the process also holds Node.js with its heap.
 */
export interface MemoryPressure {
  readonly device: string;
  readonly plannedBytes: number;
  /** `null` on systems that don't count. */
  readonly measuredBytes: number | null;
  readonly limitBytes: number;
  /** Shares of `limitBytes`. */
  readonly plannedPressure: number;
  readonly measuredPressure: number | null;
}

export function pressureOf({ device, limit, planned, measured }: DeviceHeldMemory): MemoryPressure {
  return {
    device,
    plannedBytes: planned,
    measuredBytes: measured ?? null,
    limitBytes: limit,
    plannedPressure: planned / limit,
    measuredPressure: measured === undefined ? null : measured / limit,
  };
}

/** `desktop: memory pressure 9.4 % (96.3 MiB of 1.00 GiB), planned 2.1 %`. */
export function describePressure(one: MemoryPressure): string {
  const { device, limitBytes, measuredBytes, plannedPressure } = one;
  const measured =
    measuredBytes === null
      ? 'not measured on this system'
      : `${formatPercent(measuredBytes / limitBytes)} (${formatBytes(measuredBytes)} of ${formatBytes(limitBytes)})`;
  return `${device}: memory pressure ${measured}, planned ${formatPercent(plannedPressure)}`;
}
