import { openGpuKernels } from '../kernels/webgpu/node-gpu.ts';
import type { RingGpu } from '../ring/device/device-part.ts';

/**
 * The GPU that a device of a ring computes on beside its CPU: the one that is named, else the fastest, unless it is
 * software; `undefined` for `none`, and where there is none.
 * @throws InputError if there is none of that name
 */
export async function findRingGpu(name: string | undefined, exact?: boolean): Promise<RingGpu | undefined> {
  if (name === 'none') return undefined;
  const found = await openGpuKernels({ adapter: name, exact }).catch((error: Error) => {
    if (name !== undefined) throw error;
    return undefined;
  });
  if (found === undefined) return undefined;
  found.kernels.close();
  if (found.software && name === undefined) return undefined;
  return { name: found.adapter, open: async () => (await openGpuKernels({ adapter: name, exact })).kernels };
}
