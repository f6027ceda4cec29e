import { openFile } from '../../gguf/file-source.ts';
import { InputError } from '../../input/input-error.ts';
import type { Kernels } from '../kernels.ts';
import { openDevice } from './open-device.ts';
import { webgpuKernels } from './webgpu-kernels.ts';

/** Kernels on a GPU of this machine, and what it is called. */
export interface GpuKernels {
  readonly kernels: Kernels;
  readonly adapter: string;
}

/**
 * Opens this machine's fastest GPU.
 * @param without WebGPU features to do without
 * @throws InputError if there is none
 */
export async function openGpuKernels(without: readonly GPUFeatureName[] = []): Promise<GpuKernels> {
  const { device, name } = await openDevice(await nodeGpu(), without);
  return { kernels: webgpuKernels({ device, adapter: name, openFile }), adapter: name };
}

/** Dawn frees an instance that nothing refers to, even while its devices are in use. */
let instance: GPU | undefined;

/** Dawn, as the optional package `webgpu` brings it. @throws InputError where it isn't installed */
async function nodeGpu(): Promise<GPU> {
  try {
    const { create, globals } = await import('webgpu');
    Object.assign(globalThis, globals);
    instance ??= create([]);
    return instance;
  } catch (error) {
    const reason = (error as Error).message.split('\n')[0];
    throw new InputError('GPU', `the package "webgpu" can't be loaded (${reason}); install it: npm install webgpu`);
  }
}
