import { existsSync } from 'node:fs';
import type { Kernels } from '../../engine/kernels/kernels.ts';
import { openGpuKernels } from '../../engine/kernels/webgpu/node-gpu.ts';
import { type GpuCheck, type GpuVariant, openGpuVariants, ROUNDED } from './gpu-variants.ts';
import { testIf } from './needs.ts';

/** SwiftShader, a GPU in software, as Debian's chromium brings it. */
const SWIFTSHADER = '/usr/lib/chromium/vk_swiftshader_icd.json';

/** The environment in which a process finds a GPU: where there is none, the one in software. */
export const GPU_ENVIRONMENT: Readonly<Record<string, string>> =
  process.env.VK_DRIVER_FILES === undefined && !existsSync('/dev/nvidia0') && existsSync(SWIFTSHADER)
    ? { VK_DRIVER_FILES: SWIFTSHADER }
    : {};

Object.assign(process.env, GPU_ENVIRONMENT);

const opened = await openGpuVariants().catch((error: Error) => error.message);
/** The GPU's kernels, and the same without the features that not every adapter has; empty without a GPU. */
export const GPU_KERNELS: readonly GpuVariant[] = typeof opened === 'string' ? [] : opened;

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

/** Kernels keep their shaders, each of which software compiles for a second, for all tests that a process runs. */
const opening = new Map<keyof typeof ROUNDED, Promise<Kernels>>();

function roundedKernels(on: keyof typeof ROUNDED): Promise<Kernels> {
  const known = opening.get(on) ?? openGpuKernels(ROUNDED[on]).then(({ kernels }) => kernels);
  opening.set(on, known);
  return known;
}

/** A test of kernels that round activations and read weights by units, which software does only if it is asked to. */
export function testPackedGpu(
  name: string,
  body: (kernels: Kernels) => void | Promise<void>,
  on: keyof typeof ROUNDED = 'rounded',
): void {
  testIf(GPU_MISSING === undefined, GPU_MISSING ?? '', name, async () => body(await roundedKernels(on)));
}

/** Tests of comparisons that the bench in a box makes as well. */
export function testChecks(checks: readonly GpuCheck[]): void {
  for (const { name, on, check } of checks) {
    const body = (kernels: Kernels) => check(kernels, GPU_KERNELS);
    if (on === 'plain') testGpu(name, body);
    else if (on === 'variants') testGpuVariants(name, body);
    else testPackedGpu(name, body, on);
  }
}
