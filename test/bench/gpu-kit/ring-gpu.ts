import { openGpuKernels } from '../../../engine/kernels/webgpu/node-gpu.ts';
import type { RingGpu } from '../../../engine/ring/device/device-part.ts';

/** Memory that both devices of the ring state: more than the models have, as the GPU holds all layers. */
export const RING_MEMORY = { memory: 2 ** 36, memoryLimit: 2 ** 37 } as const;

/** The GPU of this machine, in software as well. */
export const ringGpu = (device: string | undefined): RingGpu => ({
  name: device ?? 'GPU',
  open: async () => (await openGpuKernels({ adapter: device })).kernels,
});
