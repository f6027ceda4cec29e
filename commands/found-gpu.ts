import { type GpuKernels, openGpuKernels } from '../engine/kernels/webgpu/node-gpu.ts';
import { probedGpus } from '../engine/kernels/webgpu/probed-gpus.ts';
import type { RingGpu } from '../engine/ring/device/device-part.ts';

/**
 * The fastest GPU of this machine, unless it is software, which is no faster than the CPU; `undefined` without one. A
 * driver that doesn't work isn't an error then, but is logged.
 */
export async function openFastestGpu(
  { exact }: { readonly exact?: boolean | undefined },
  log: (line: string) => void,
): Promise<GpuKernels | undefined> {
  try {
    const { software, problem } = await probedGpus();
    if (problem !== undefined) log(`${software === false ? '' : 'no GPU is used: '}${problem}`);
    return software === false ? await openGpuKernels({ exact }) : undefined;
  } catch {
    return undefined; // as without the optional package
  }
}

/**
 * The GPU that a device of a ring computes on in addition to its CPU: the one that is named, else the fastest, unless
 * it is software; `undefined` for `none`, and where there is none.
 * @throws InputError if there is none of that name
 */
export async function findRingGpu(
  { name, exact }: { readonly name: string | undefined; readonly exact?: boolean | undefined },
  log: (line: string) => void,
): Promise<RingGpu | undefined> {
  if (name === 'none') return undefined;
  const found =
    name === undefined ? await openFastestGpu({ exact }, log) : await openGpuKernels({ adapter: name, exact });
  if (found === undefined) return undefined;
  found.kernels.close();
  return { name: found.adapter, open: async () => (await openGpuKernels({ adapter: name, exact })).kernels };
}
