import { InputError } from '../input/input-error.ts';
import type { Device, Npu, UnifiedGpu } from './device.ts';

/** What GPU and NPU of one chip share, and how they work together (HeteroLLM 3). */
export interface Soc {
  /** Bytes per second that both reach together; one alone reaches its own `bandwidth` (3.3). */
  readonly bandwidth: number;
  readonly npu: NpuArray;
  readonly gpu: GpuQueue;
  readonly synchronisation: SynchronisationTimes;
  readonly power: Power;
}

/** A systolic array whose graphs are static (3.2). */
export interface NpuArray {
  /** Rows and columns of the array: products are padded to them. */
  readonly tile: number;
  /** Seconds to load the stationary operand of a tile. */
  readonly tileLoad: number;
  /** Tokens of the graphs prepared beforehand: from `shortest` to `longest`, each twice the one before. */
  readonly shortestGraph: number;
  readonly longestGraph: number;
  /** Generating a graph: seconds before all else, and FLOPs of the graph per second after (Fig. 9). */
  readonly graphBase: number;
  readonly graphRate: number;
}

/** Seconds to submit a kernel: while another runs, and to an empty queue (3.1). */
export interface GpuQueue {
  readonly queued: number;
  readonly drained: number;
}

/** Seconds of what processors do to hand over to each other (3.1, 4.2). */
export interface SynchronisationTimes {
  /** A copy between the memory of CPU and GPU, whatever its size. */
  readonly copy: number;
  /** Granularity of the sleep of the synchronisation thread. */
  readonly sleep: number;
  /** Between two looks at the flag. */
  readonly poll: number;
  /** From the flag seen until the NPU runs. */
  readonly notify: number;
}

/** Watts of the chip by what runs: a GPU beside an NPU needn't draw what it draws alone. */
export interface Power {
  readonly idle: number;
  readonly gpu: number;
  readonly npu: number;
  readonly both: number;
}

/** A device whose GPU and NPU can share an operator. */
export interface SocDevice extends Device {
  readonly gpu: UnifiedGpu;
  readonly npu: Npu;
  readonly soc: Soc;
}

/** @throws InputError that says what the device lacks, or where its bandwidths disagree */
export function socDevice(device: Device): SocDevice {
  const { name, gpu, npu, soc } = device;
  const lacks = (what: string): never => {
    throw new InputError(`device "${name}"`, `has no ${what}; tensors are shared by a chip's GPU and NPU`);
  };
  if (gpu === undefined) return lacks('"gpu"');
  if (gpu.api === 'cuda') return lacks('GPU that shares the RAM (its api is "cuda")');
  if (npu === undefined) return lacks('"npu"');
  if (soc === undefined) return lacks('"soc" (tiles, graphs, synchronisation: datasets/README.md)');
  if (soc.bandwidth < Math.max(gpu.bandwidth, npu.bandwidth)) {
    const problem = `is ${soc.bandwidth} B/s, less than GPU or NPU reach alone; it is what both reach together`;
    throw new InputError(`device "${name}": soc.bandwidth`, problem);
  }
  return { ...device, gpu, npu, soc };
}

/** Tokens of the graphs that are prepared beforehand, the longest first. */
export function graphLengths({ shortestGraph, longestGraph }: NpuArray): number[] {
  const lengths: number[] = [];
  for (let length = longestGraph; length >= shortestGraph; length /= 2) lengths.push(length);
  return lengths;
}
