import { type Device, reloadRate } from '../../../engine/hardware/device.ts';
import type { Model } from '../../../engine/model/model.ts';

/** The least that a token's reloads can take; bytes, bytes per second, and seconds. */
export interface LeastReload {
  readonly weights: number;
  /** RAM and VRAM of all devices. */
  readonly room: number;
  /** What remains on disks at best. */
  readonly excess: number;
  /** Of all disks together. */
  readonly rate: number;
  readonly seconds: number;
}

/**
 * A time per token that no plan under any reclaim undercuts: every RAM and VRAM is full of weights but for what can't be
 * reclaimed, all disks read without a pause, computing and sending take no time. What doesn't fit is read once per token.
 * Of the embedding a token reads a row only. What Android could swap out for weights isn't counted: prima.cpp's paper
 * doesn't state it, and its program treats Android as Linux.
 * @param pinned bytes of RAM that don't hold weights, over all devices
 */
export function leastReload(devices: readonly Device[], { layers, layer, output }: Model, pinned: number): LeastReload {
  const weights = layers * layer.bytes + output.bytes;
  const room = devices.reduce((sum, { memory, gpu }) => sum + memory.available + (gpu?.memory.available ?? 0), 0);
  const rate = devices.reduce((sum, device) => sum + reloadRate(device), 0);
  const excess = Math.max(0, weights + pinned - room);
  return { weights, room, excess, rate, seconds: excess / rate };
}
