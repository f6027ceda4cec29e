import type { Link } from '../hardware/device.ts';
import type { Kernels } from '../kernels/kernels.ts';
import type { GpuKernels } from '../kernels/webgpu/node-gpu.ts';
import type { WebgpuKernels } from '../kernels/webgpu/webgpu-kernels.ts';
import type { Quantization } from '../model/quantization.ts';
import {
  CROSSING_BYTES,
  crossing,
  LARGE_CROSSING_BYTES,
  largeCrossing,
  repeatedCrossing,
  smallProduct,
} from './probes/crossing.ts';
import type { ProcessorClock } from './processor-clock.ts';
import {
  createProcessorProbes,
  type FurtherProbes,
  type ProcessorMeasures,
  type ProcessorProbes,
} from './processor-probes.ts';
import { type Sample, sampleOf } from './sample.ts';

/** Samples that the probes measure on a GPU. */
export interface GpuMeasures {
  /** The GPU's name. */
  readonly adapter: string;
  readonly processor: ProcessorMeasures;
  /** Seconds in which CROSSING_BYTES go to the GPU and back in a pass, and LARGE_CROSSING_BYTES. */
  readonly crossing: Sample;
  readonly largeCrossing: Sample;
  /** The same of CROSSING_BYTES that go there and back again and again. */
  readonly repeatedCrossing: Sample;
  readonly memory: GpuMemory;
}

export interface GpuMemory {
  readonly bytes: number;
  /** How it is known. */
  readonly rule: string;
}

export interface GpuProbes extends Pick<ProcessorProbes, 'labels' | 'round'> {
  readonly measures: () => GpuMeasures;
}

/** Bytes of weights of each format: more than the caches of today's GPUs hold (H100: 50 MB, RTX 5090: 96 MB). */
const WEIGHT_BYTES = 128 * 2 ** 20;
/** The same on a GPU with little memory, whose caches are small too: the largest matrix, and at most half of the memory. */
const LEAST_WEIGHT_BYTES = 32 * 2 ** 20;

/** Bytes of weights of each of `formats` formats on a GPU with this memory, all of which are there at once. */
export function probedWeightBytes(memoryBytes: number, formats: number): number {
  return Math.min(WEIGHT_BYTES, Math.max(LEAST_WEIGHT_BYTES, memoryBytes / 2 / formats));
}

/**
 * Seconds for which a GPU computes before a round: one in software takes up to a third longer just after probes of the
 * CPU, which in a model's passes it doesn't.
 */
const WARMING_SECONDS = 0.5;

export interface GpuProbeOptions extends FurtherProbes {
  readonly gpu: GpuKernels;
  /** The CPU that crosses to it. */
  readonly cpu: Kernels;
  /** A file of random weights of at least WEIGHT_BYTES. */
  readonly weightsFile: string;
  readonly formats: readonly Quantization[];
  /** Bytes of RAM that are free: what a GPU in software has. */
  readonly freeRam: number;
}

/** Creates probes of a GPU: those of a processor, and of what it costs to cross to it. */
export async function createGpuProbes({
  gpu,
  cpu,
  weightsFile,
  formats,
  freeRam,
  ...further
}: GpuProbeOptions): Promise<GpuProbes> {
  const { kernels, adapter, software } = gpu;
  const memory = software
    ? { bytes: freeRam, rule: 'available RAM, which this GPU in software uses' }
    : { bytes: await gpu.memory(), rule: 'as much as could be allocated' };
  const weights = kernels.mapFile(weightsFile);
  const clocks = { clock: gpuClock(kernels), deviceClock: deviceClockOf(kernels) };
  const bench = { kernels, ...clocks, weights, weightBytes: probedWeightBytes(memory.bytes, formats.length) };
  const processor = createProcessorProbes(bench, formats, further);
  const crossings = [
    { label: 'crossing to the GPU', ...sampling(crossing({ gpu: kernels, cpu })) },
    { label: 'copying to the GPU', ...sampling(largeCrossing({ gpu: kernels, cpu })) },
    { label: 'crossing again and again', ...sampling(repeatedCrossing(bench)) },
  ] as const;
  const product = smallProduct(kernels);
  const warmUp = async (): Promise<void> => {
    for (const begun = performance.now(); performance.now() - begun < 1000 * WARMING_SECONDS; ) {
      kernels.run([product]);
      await kernels.read(product.y);
    }
  };
  return {
    labels: [...processor.labels, ...crossings.map(({ label }) => label)],
    async round(onProbe) {
      await warmUp();
      await processor.round(onProbe);
      for (const { label, take } of crossings) {
        onProbe?.(label);
        await take();
      }
    },
    measures: () => ({
      adapter,
      processor: processor.measures(),
      crossing: crossings[0].sample(),
      largeCrossing: crossings[1].sample(),
      repeatedCrossing: crossings[2].sample(),
      memory,
    }),
  };
}

function sampling(measure: () => Promise<number>) {
  const values: number[] = [];
  return {
    async take(): Promise<void> {
      values.push(await measure());
    },
    sample: (): Sample => sampleOf(values.slice(1)),
  };
}

/** Times work until the GPU has done it. */
export function gpuClock(kernels: Kernels): ProcessorClock {
  const last = kernels.vector(1);
  return {
    async time(run) {
      await kernels.read(last);
      const start = performance.now();
      await run();
      await kernels.read(last);
      const seconds = (performance.now() - start) / 1000;
      return { wall: seconds, own: seconds };
    },
  };
}

/** The device's own clock; `undefined` where it has no timestamps. */
export function deviceClockOf({ deviceSeconds }: WebgpuKernels): ProcessorClock | undefined {
  if (deviceSeconds === undefined) return undefined;
  return {
    async time(run) {
      const seconds = await deviceSeconds(run);
      return { wall: seconds, own: seconds };
    },
  };
}

/** Cost of a crossing in one direction. */
export function hostLinkOf({
  crossing: few,
  largeCrossing: many,
}: Pick<GpuMeasures, 'crossing' | 'largeCrossing'>): Link {
  const perByte = Math.max(many.median - few.median, many.median / 2) / 2 / (LARGE_CROSSING_BYTES - CROSSING_BYTES);
  return { latency: Math.max(0, few.median / 2 - CROSSING_BYTES * perByte), bandwidth: 1 / perByte };
}
