import { openFile } from '../../gguf/file-source.ts';
import { InputError } from '../../input/input-error.ts';
import { withDivertedErrors } from '../native/diverted-errors.ts';
import { allocatableBytes } from './device-memory.ts';
import { noGpu, openDevice, type UsedFeature } from './open-device.ts';
import { driverLog, notLoaded, probedGpus } from './probed-gpus.ts';
import { scratchFile } from './scratch-file.ts';
import type { LanesTogether } from './shaders/lanes.ts';
import { unhurriedWait } from './unhurried-wait.ts';
import { driversMissing } from './vulkan-drivers.ts';
import { type WebgpuKernels, webgpuKernels } from './webgpu-kernels.ts';

/** Kernels on a GPU of this machine, and what it is. */
export interface GpuKernels {
  readonly kernels: WebgpuKernels;
  /** Its name. */
  readonly adapter: string;
  /** Whether the CPU computes, by a driver that stands for a GPU. */
  readonly software: boolean;
  /** Bytes that can be allocated on it now. */
  memory(): Promise<number>;
}

export interface GpuOptions {
  /** A GPU's name or a part of it, as `probedGpus` has it. Default: the fastest. */
  readonly adapter?: string | undefined;
  /** Features to do without, as on an adapter that lacks them. */
  readonly without?: readonly UsedFeature[];
  /** Whether activations stay as they are (KernelOptions.exact). Default: false. */
  readonly exact?: boolean | undefined;
  /**
   * Whether activations of many tokens are rounded to bytes and multiplied four at once, where shaders can. Default:
   * unless the CPU computes; on SwiftShader prompts took 1.05 to 1.7 times as long with it.
   */
  readonly packedDot?: boolean;
  /** How lanes work together; default: as the device can best. */
  readonly lanes?: LanesTogether;
  /** Whether products of a few tokens read weights by units of 16 bytes. Default: unless the CPU computes. */
  readonly units?: boolean;
}

/**
 * Opens a GPU of this machine.
 * @throws InputError if there is none, or none of that name
 */
export async function openGpuKernels({
  adapter,
  without = [],
  lanes,
  exact = false,
  packedDot,
  units,
}: GpuOptions = {}): Promise<GpuKernels> {
  const { device, identifier, software, ...opened } = await withDivertedErrors(driverLog(), async () =>
    openDevice(await dawn(adapter), without),
  );
  const { gpus } = await probedGpus();
  const { name } = gpus.find((gpu) => identifierOf(gpu.name) === identifier) ?? { name: identifier };
  return {
    kernels: webgpuKernels({
      device,
      adapter: name,
      openFile,
      openScratch: scratchFile,
      lanes,
      halves: !exact,
      halfMatrices: opened.halfMatrices && !exact,
      units: units ?? !software,
      early: software ? 0 : FIRST_DISPATCHES,
      wait: software ? unhurriedWait : undefined,
      packedDot: opened.packedDot && !exact && (packedDot ?? !software),
    }),
    adapter: name,
    software,
    memory: () => allocatableBytes(device),
  };
}

/**
 * Dispatches that a GPU is given first, while the host encodes more, twice as many each time: encoding one takes about
 * 7 µs of the host's time and submitting them 40 µs (H100), and a token of a large model has hundreds.
 */
const FIRST_DISPATCHES = 12;

/** A name as WebGPU's adapter information has it (GPUAdapterInfo: a normalized identifier string). */
function identifierOf(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
}

/**
 * Options of Dawn. By itself it leaves out numbers of 16 bits on NVIDIA's Vulkan drivers, whose results for special values
 * differ from the specification's, and matrices of subgroups, which WebGPU doesn't have yet; and it makes timestamps
 * coarse, against web pages that measure others.
 */
export const DAWN_OPTIONS: readonly string[] = [
  'enable-dawn-features=vulkan_enable_f16_on_nvidia,allow_unsafe_apis',
  'disable-dawn-features=timestamp_quantization',
];

/** Dawn frees an instance that nothing refers to, even while its devices are in use. */
const instances = new Map<string, GPU>();

/** Dawn for all adapters, or for those of this name. @throws InputError if there is none of it */
async function dawn(adapter: string | undefined): Promise<GPU> {
  const { gpus: known, problem } = await probedGpus();
  if (known.length === 0) throw noGpu(problem ?? driversMissing());
  const { create, globals } = await loadDawn();
  Object.assign(globalThis, globals);
  const name = adapter ?? '';
  if (adapter !== undefined && !known.some((gpu) => gpu.name.includes(adapter))) {
    const names = known.map((gpu) => `"${gpu.name}"`).join(', ');
    throw new InputError('--device', `no GPU is called "${adapter}"; there is ${names}`);
  }
  const instance =
    instances.get(name) ?? create([...DAWN_OPTIONS, ...(adapter === undefined ? [] : [`adapter=${adapter}`])]);
  instances.set(name, instance);
  return instance;
}

type Dawn = typeof import('webgpu');

async function loadDawn(): Promise<Dawn> {
  try {
    return await import('webgpu');
  } catch (error) {
    throw notLoaded((error as Error).message);
  }
}
