import { loadAddon } from '../../../../engine/kernels/native/addon.ts';
import { DAWN_OPTIONS } from '../../../../engine/kernels/webgpu/node-gpu.ts';
import { noGpu } from '../../../../engine/kernels/webgpu/open-device.ts';
import { probedGpus } from '../../../../engine/kernels/webgpu/probed-gpus.ts';
import type { Cell } from '../results.ts';
import type { Step } from '../step-tools.ts';

/** Driver, adapter, features and limits, as WebGPU has them. */
export const device: Step = {
  name: 'device',
  title: 'driver, adapter, features, limits',
  weight: 4,
  async run({ device: named, save }) {
    // Before all else: what an older glibc lacks is told by its error.
    const { create, globals } = await import('webgpu');
    const { gpus: listed, problem } = await probedGpus();
    if (listed.length === 0) throw noGpu(problem);
    Object.assign(globalThis, globals);
    const gpu = create([...DAWN_OPTIONS, ...(named === undefined ? [] : [`adapter=${named}`])]);
    const adapter = await gpu.requestAdapter({ powerPreference: 'high-performance' });
    if (adapter === null) throw noGpu();
    const { info } = adapter;
    const addon = loadAddon();
    const cell: Extract<Cell, { kind: 'device' }> = {
      kind: 'device',
      adapter: listed.length === 1 ? (listed[0]?.name ?? '') : info.device || info.description,
      driver: info.description,
      architecture: [info.vendor, info.architecture].filter((part) => part !== '').join(' '),
      software: info.isFallbackAdapter,
      subgroupSizes: [info.subgroupMinSize ?? 0, info.subgroupMaxSize ?? 0],
      features: [...adapter.features].sort(),
      language: [...gpu.wgslLanguageFeatures].sort(),
      limits: limitsOf(adapter.limits),
      addon: typeof addon === 'string' ? addon : addon.instructionSets(),
    };
    save(cell);
    const has = (feature: GPUFeatureName): string => (adapter.features.has(feature) ? feature : `no ${feature}`);
    return `${cell.adapter} (${cell.driver}), subgroups of ${cell.subgroupSizes.join(' to ')}, ${has('shader-f16')}, ${has('timestamp-query')}`;
  },
};

/** All limits, which are properties of their prototype. */
function limitsOf(limits: GPUSupportedLimits): Record<string, number> {
  const names = Object.keys(Object.getOwnPropertyDescriptors(Object.getPrototypeOf(limits)));
  return Object.fromEntries(
    names.flatMap((name) => {
      const value: unknown = Reflect.get(limits, name);
      return typeof value === 'number' ? [[name, value]] : [];
    }),
  );
}
