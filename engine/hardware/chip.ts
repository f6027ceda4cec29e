import { InputError } from '../input/input-error.ts';
import { type Device, isDiscrete, type Npu, type NpuArray, type Soc, type UnifiedGpu } from './device.ts';

/** A device whose GPU and NPU can share an operator. */
export interface ChipDevice extends Device {
  readonly gpu: UnifiedGpu;
  readonly npu: Npu;
  readonly soc: Soc;
}

/**
 * The device, if GPU and NPU can share operators.
 * @throws InputError that says what it lacks, or which bandwidths disagree
 */
export function chipDevice(device: Device): ChipDevice {
  const { name, gpu, npu, soc } = device;
  const lacks = (what: string): never => {
    throw new InputError(`device "${name}"`, `has no ${what}; tensors are shared by a chip’s GPU and NPU`);
  };
  if (gpu === undefined) return lacks('"gpu"');
  if (isDiscrete(gpu)) return lacks(`GPU that shares the RAM (its api is "${gpu.api}")`);
  if (npu === undefined) return lacks('"npu"');
  if (soc === undefined) return lacks('"soc" (tiles, graphs, synchronisation: datasets/README.md)');
  if (soc.bandwidth < Math.max(gpu.bandwidth, npu.bandwidth)) {
    const problem = `is ${soc.bandwidth} B/s, less than GPU or NPU reach alone; it is what both reach together`;
    throw new InputError(`device "${name}": soc.bandwidth`, problem);
  }
  return { ...device, gpu, npu, soc };
}

/** Lengths in tokens of the graphs that are prepared in advance, the longest first. */
export function graphLengths({ shortestGraph, longestGraph }: NpuArray): number[] {
  const lengths: number[] = [];
  for (let length = longestGraph; length >= shortestGraph; length /= 2) lengths.push(length);
  return lengths;
}
