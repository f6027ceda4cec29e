import type { Kernels } from '../../engine/kernels/kernels.ts';
import { type GpuOptions, openGpuKernels } from '../../engine/kernels/webgpu/node-gpu.ts';

/** A GPU's kernels, opened in one way. */
export interface GpuVariant {
  readonly name: string;
  readonly kernels: Kernels;
}

/**
 * The kernels of a GPU as it is, then the same without features that not every adapter has. Activations aren't rounded,
 * so that products and logits are exact. @throws InputError without a GPU
 */
export async function openGpuVariants(device?: string): Promise<readonly [GpuVariant, ...GpuVariant[]]> {
  const open = (options: GpuOptions) => openGpuKernels({ adapter: device, exact: true, ...options });
  const { adapter, kernels } = await open({});
  return [
    { name: adapter, kernels },
    { name: 'subgroups of any size', kernels: (await open({ lanes: 'subgroups' })).kernels },
    { name: 'without subgroups', kernels: (await open({ without: ['subgroups'] })).kernels },
  ];
}

/**
 * Kernels whose activations are rounded: to bytes, read by units, which software computes only if it is asked to; or as
 * the device does best, which is to halves where subgroups multiply matrices of them.
 */
export const ROUNDED = {
  rounded: { packedDot: true, units: true, without: ['chromium-experimental-subgroup-matrix'] },
  'rounded, by workgroups': {
    ...{ packedDot: true, units: true, lanes: 'workgroup' },
    without: ['chromium-experimental-subgroup-matrix'],
  },
  best: {},
} as const satisfies Readonly<Record<string, GpuOptions>>;

/** A comparison of a GPU's kernels with the reference: a test, and a line of the bench in a box. */
export interface GpuCheck {
  readonly name: string;
  /** The kernels: the GPU as it is, that and its variants, or kernels that round activations. */
  readonly on: 'plain' | 'variants' | keyof typeof ROUNDED;
  /** @param all the GPU's variants, activations unrounded @throws an assertion's error */
  readonly check: (kernels: Kernels, all: readonly GpuVariant[]) => void | Promise<void>;
}
