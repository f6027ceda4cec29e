import type { Kernels } from '../../../../engine/kernels/kernels.ts';
import { openGpuKernels } from '../../../../engine/kernels/webgpu/node-gpu.ts';
import { EXPERT_CHECKS } from '../../../kernels/webgpu/expert-checks.ts';
import { OPERATION_CHECKS } from '../../../kernels/webgpu/operation-checks.ts';
import { PRODUCT_CHECKS } from '../../../kernels/webgpu/product-checks.ts';
import { RECURRENCE_CHECKS } from '../../../kernels/webgpu/recurrence-checks.ts';
import { UNIT_CHECKS } from '../../../kernels/webgpu/unit-checks.ts';
import { GOLDEN_CHECKS } from '../../../runtime/golden-checks.ts';
import { type GpuCheck, type GpuVariant, openGpuVariants, ROUNDED } from '../../../support/gpu-variants.ts';
import type { Step } from '../step-tools.ts';

/** Every comparison with the reference that the tests make. */
export const kernels: Step = {
  name: 'kernels',
  title: 'kernels, formats and goldens against the reference',
  weight: 10,
  async run({ device, save }) {
    const variants = await openGpuVariants(device);
    const rounded = new Map<string, Kernels>();
    for (const [name, options] of Object.entries(ROUNDED))
      rounded.set(name, (await openGpuKernels({ adapter: device, ...options })).kernels);
    let [agreed, compared] = [0, 0];
    for (const { name, check, kernels } of comparisons(variants, rounded)) {
      const start = performance.now();
      const found = await attempt(() => check(kernels, variants));
      const seconds = (performance.now() - start) / 1000;
      const agrees = found === undefined;
      compared++;
      if (agrees) agreed++;
      save(
        { kind: 'check', name, agrees, seconds, ...(!agrees && { found }) },
        agrees ? undefined : `${name}: ${found}`,
      );
    }
    return `${agreed} of ${compared} comparisons agree`;
  },
};

interface Comparison extends Pick<GpuCheck, 'name' | 'check'>, Pick<GpuVariant, 'kernels'> {}

/** Goldens come first: they say most in the least time. */
function comparisons(
  variants: readonly [GpuVariant, ...GpuVariant[]],
  rounded: ReadonlyMap<string, Kernels>,
): Comparison[] {
  const [plain, ...others] = variants;
  return [
    ...GOLDEN_CHECKS,
    ...UNIT_CHECKS,
    ...PRODUCT_CHECKS,
    ...OPERATION_CHECKS,
    ...EXPERT_CHECKS,
    ...RECURRENCE_CHECKS,
  ].flatMap(({ name, on, check }) => {
    const kernels = rounded.get(on) ?? plain.kernels;
    const further = on === 'variants' ? others : [];
    return [
      { name, check, kernels },
      ...further.map((variant) => ({ name: `${name}, ${variant.name}`, check, kernels: variant.kernels })),
    ];
  });
}

/** Runs a check. @returns the fault, if there was one */
async function attempt(run: () => void | Promise<void>): Promise<string | undefined> {
  try {
    await run();
    return undefined;
  } catch (error) {
    return (error as Error).message.split('\n').slice(0, 3).join(' ') || String(error);
  }
}
