import type { ProcessorKind } from '../hardware/device.ts';
import type { DeviceCosts, RingCosts } from './ring-costs.ts';

/**
 * Layers per window that the GPU's memory holds with their KV cache, for `rounds` windows, beside the output layer if
 * that is there (prima.cpp Eqs. 34, 35; a Metal head keeps room for it in any case). A quotient may round across the
 * limit, so the sum of the bytes decides, as it does in a prediction.
 * @param output where the head's output layer runs; undefined on other devices
 */
export function gpuLayerRoom(
  costs: RingCosts,
  device: DeviceCosts,
  output: ProcessorKind | undefined,
  rounds = 1,
): number {
  if (device.gpu === undefined) return 0;
  const layer = costs.layerBytes + costs.kvBytes;
  const reserved = output === 'gpu' || (output === 'cpu' && device.kind === 'macos-metal') ? costs.outputBytes : 0;
  const fits = (layers: number): boolean => layers * rounds * layer + reserved <= device.gpuRoom;
  const estimate = Math.max(0, Math.floor((device.gpuRoom - reserved) / (layer * rounds)));
  if (fits(estimate + 1)) return estimate + 1;
  return fits(estimate) ? estimate : Math.max(0, estimate - 1);
}
