import { existsSync } from 'node:fs';
import type { Kernels } from '../../engine/kernels/kernels.ts';
import { type GpuOptions, openGpuKernels } from '../../engine/kernels/webgpu/node-gpu.ts';
import { testIf } from './needs.ts';

/** SwiftShader, a GPU in software, as Debian's chromium brings it. */
const SWIFTSHADER = '/usr/lib/chromium/vk_swiftshader_icd.json';

/** What a process needs in its environment to find a GPU: where there is none, the one in software. */
export const GPU_ENVIRONMENT: Readonly<Record<string, string>> =
  process.env.VK_DRIVER_FILES === undefined && !existsSync('/dev/nvidia0') && existsSync(SWIFTSHADER)
    ? { VK_DRIVER_FILES: SWIFTSHADER }
    : {};

Object.assign(process.env, GPU_ENVIRONMENT);

// Without rounding, which tests of exact products and logits don't expect.
const opened = await openGpuKernels({ exact: true }).catch((error: Error) => error.message);
/** The GPU's kernels, and the same without the features that not every adapter has; empty without a GPU. */
export const GPU_KERNELS: readonly { readonly name: string; readonly kernels: Kernels }[] =
  typeof opened === 'string'
    ? []
    : [
        { name: opened.adapter, kernels: opened.kernels },
        {
          name: 'subgroups of any size',
          kernels: (await openGpuKernels({ lanes: 'subgroups', exact: true })).kernels,
        },
        {
          name: 'without subgroups',
          kernels: (await openGpuKernels({ without: ['subgroups'], exact: true })).kernels,
        },
      ];

/** Why there is no GPU; `undefined` if there is one. */
export const GPU_MISSING = typeof opened === 'string' ? opened : undefined;

/** A test that needs a GPU: skipped, with the reason, where there is none, not even in software. */
export function testGpu(name: string, body: (kernels: Kernels) => void | Promise<void>): void {
  testIf(GPU_MISSING === undefined, GPU_MISSING ?? '', name, () => body(GPU_KERNELS[0]?.kernels as Kernels));
}

/** The same for every way in which lanes work together, as adapters differ in it. */
export function testGpuVariants(name: string, body: (kernels: Kernels) => void | Promise<void>): void {
  testGpu(name, body);
  for (const { name: variant, kernels } of GPU_KERNELS.slice(1)) {
    testIf(true, '', `${name}, ${variant}`, () => body(kernels));
  }
}

/** A test of products of packed bytes and of units, which software computes only if it is asked to. */
export function testPackedGpu(
  name: string,
  body: (kernels: Kernels) => void | Promise<void>,
  options: Pick<GpuOptions, 'packedDot' | 'lanes'> = {},
): void {
  testIf(GPU_MISSING === undefined, GPU_MISSING ?? '', name, async () => {
    const { kernels } = await openGpuKernels({ packedDot: true, units: true, ...options });
    await body(kernels);
    kernels.close();
  });
}
