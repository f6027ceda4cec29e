import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { InputError } from '../input/input-error.ts';
import { ADDON_REMEDY, loadAddon, type NativeAddon } from '../kernels/native/addon.ts';
import { openKernels } from '../kernels/open-kernels.ts';
import type { GpuKernels } from '../kernels/webgpu/node-gpu.ts';
import { QUANTIZED_KV_FORMATS } from '../model/kv-format.ts';
import type { Quantization } from '../model/quantization.ts';
import { lastLevelCacheBytes } from './cache-size.ts';
import { type DiskMeasures, measureDisk } from './disk.ts';
import { createGpuProbes, type GpuMeasures } from './gpu-probes.ts';
import { type KernelFacts, readKernel } from './kernel-facts.ts';
import type { Host } from './memory/host.ts';
import { type MemoryFacts, readMemory } from './memory/read-memory.ts';
import { readingRate } from './probes/reading.ts';
import { WEIGHTS_FILE_BYTES, withWeightsFile } from './probes/weights-file.ts';
import { clockFor } from './processor-clock.ts';
import { createProcessorProbes, type ProcessorMeasures } from './processor-probes.ts';
import { type Sample, sampleOf } from './sample.ts';

/** Result of `hearth profile`. */
export interface MachineProfile {
  readonly name: string;
  readonly memory: MemoryFacts;
  /** Missing where a cluster file leaves it to the simulator's defaults. */
  readonly kernel?: KernelFacts;
  readonly cpu: ProcessorMeasures;
  /** `undefined` where none is measured. */
  readonly gpu: GpuMeasures | undefined;
  /** Bytes per second of reading RAM without computing, with one thread and with all. */
  readonly reading: { readonly one: Sample; readonly all: Sample };
  /** Last-level cache: its bytes, and bytes per second of reading a part of it; `undefined` without one. */
  readonly cache: { readonly bytes: number; readonly rate: Sample } | undefined;
  readonly disk: DiskMeasures;
  /** Instruction set of the kernels, for people: `avx512`. */
  readonly instructionSet: string;
}

export interface ProfileParts {
  readonly name: string;
  readonly host: Host;
  readonly threads: number;
  /** The GPU to measure; `undefined`: none. It is closed afterwards. */
  readonly gpu: GpuKernels | undefined;
  /** Path of a temporary file, on the disk that holds the models. */
  readonly file: string;
  readonly seed: number;
  /** Formats of weights to measure, F16 among them: its rates stand for formats that are not. */
  readonly formats: readonly Quantization[];
  /** Runs a single round of probes, in a third of the time; the spread is then unknown. */
  readonly quick?: boolean;
  /** Called with what is being measured and the share of the work that is done, 0 to 1. */
  readonly onProgress: (label: string, done: number) => void;
}

/** Rounds of all probes that are counted; an odd number has a median. After LEAST_ROUNDS, no round begins later than PROBE_SECONDS. */
const MOST_ROUNDS = 7;
const LEAST_ROUNDS = 3;
const PROBE_SECONDS = 35;

/**
 * Bytes read to measure RAM, more than caches hold; for the last-level cache, half of its size up to MOST_CACHE_BYTES.
 */
const RAM_BYTES = 256 * 2 ** 20;
const MOST_CACHE_BYTES = 32 * 2 ** 20;

/** Approximate share of the disk in the time, and of disk and CPU next to a GPU, for the progress bar. */
const DISK_SHARE = 0.2;
const CPU_SHARE = 0.5;

/**
 * Measures this machine with the kernels that run models.
 * @throws InputError if the native kernels are missing, the temporary file can't be created, or the system isn't
 * supported
 */
export async function profileMachine(parts: ProfileParts): Promise<MachineProfile> {
  const { file, seed, host, gpu } = parts;
  const share = gpu === undefined ? 1 : CPU_SHARE;
  const onProgress = (label: string, done: number): void => parts.onProgress(label, share * done);
  const addon = loadAddon();
  if (typeof addon === 'string') throw new InputError('native kernels', `not available (${addon}); ${ADDON_REMEDY}`);
  const memory = readMemory(host);
  const kernel = readKernel(host, statSync(dirname(file)).dev);
  onProgress('a file to read', 0);
  return await withWeightsFile(file, seed, async () => {
    const disk = measureDisk(addon, file, WEIGHTS_FILE_BYTES, (count) =>
      onProgress(`disk, ${count}`, DISK_SHARE * (0.5 + count / 10)),
    );
    const processor = await measureProcessor(addon, { ...parts, onProgress });
    const onGpu = gpu && (await measureGpu(gpu, memory.memory.available, parts));
    return { name: parts.name, memory, kernel, disk, ...processor, gpu: onGpu };
  });
}

type ProcessorProfile = Pick<MachineProfile, 'cpu' | 'reading' | 'cache' | 'instructionSet'>;

async function measureProcessor(addon: NativeAddon, parts: ProfileParts): Promise<ProcessorProfile> {
  const { file, threads, host, formats, onProgress, quick = false } = parts;
  const most = quick ? 1 : MOST_ROUNDS;
  const { opened: kernels, clock } = clockFor(() => openKernels({ implementation: 'native', threads }));
  const cacheBytes = lastLevelCacheBytes(host);
  const [one, all] = [readingRate(addon, 1, RAM_BYTES), readingRate(addon, threads, RAM_BYTES)];
  const cache = cacheBytes && readingRate(addon, threads, Math.min(cacheBytes / 2, MOST_CACHE_BYTES));
  try {
    const weights = kernels.mapFile(file);
    const probes = createProcessorProbes({ kernels, clock, weights, weightBytes: weights.size }, formats, {
      caches: QUANTIZED_KV_FORMATS,
    });
    const values = { one: [] as number[], all: [] as number[], cache: [] as number[] };
    const steps = probes.labels.length * (most + 1);
    const start = performance.now();
    let step = 0;
    for (let round = 0; round <= most; round++) {
      if (round > LEAST_ROUNDS && (performance.now() - start) / 1000 > PROBE_SECONDS) break;
      const name = round === 0 ? 'first' : `${round} of ${most}`;
      await probes.round((label) => onProgress(`${name}: ${label}`, DISK_SHARE + ((1 - DISK_SHARE) * step++) / steps));
      values.one.push(await one.measure());
      values.all.push(await all.measure());
      if (cache) values.cache.push(await cache.measure());
    }
    return {
      cpu: probes.measures(),
      reading: { one: sampleOf(values.one.slice(1)), all: sampleOf(values.all.slice(1)) },
      cache: cacheBytes ? { bytes: cacheBytes, rate: sampleOf(values.cache.slice(1)) } : undefined,
      instructionSet: kernels.instructionSet,
    };
  } finally {
    kernels.close();
    for (const rate of [one, all, cache]) if (rate) rate.close();
  }
}

async function measureGpu(
  gpu: GpuKernels,
  freeRam: number,
  { file, threads, formats, quick = false, onProgress }: ProfileParts,
): Promise<GpuMeasures> {
  const cpu = openKernels({ implementation: 'native', threads });
  try {
    const probes = await createGpuProbes({
      ...{ gpu, cpu },
      weightsFile: file,
      formats,
      caches: QUANTIZED_KV_FORMATS,
      freeRam,
    });
    const rounds = quick ? 1 : LEAST_ROUNDS;
    const steps = probes.labels.length * (rounds + 1);
    let step = 0;
    for (let round = 0; round <= rounds; round++) {
      const name = round === 0 ? 'GPU, first' : `GPU, ${round} of ${rounds}`;
      await probes.round((label) => onProgress(`${name}: ${label}`, CPU_SHARE + ((1 - CPU_SHARE) * step++) / steps));
    }
    return probes.measures();
  } finally {
    cpu.close();
    gpu.kernels.close();
  }
}
