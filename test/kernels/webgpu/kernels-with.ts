import { openFile } from '../../../engine/gguf/file-source.ts';
import { openDevice } from '../../../engine/kernels/webgpu/open-device.ts';
import { scratchFile } from '../../../engine/kernels/webgpu/scratch-file.ts';
import { type WebgpuKernels, webgpuKernels } from '../../../engine/kernels/webgpu/webgpu-kernels.ts';

/** Dawn frees an instance that nothing refers to, even while its devices are in use. */
const instances: GPU[] = [];

/**
 * Kernels on a device of their own, some properties of which are replaced. @param units whether activations are rounded,
 * and weights are read by units
 */
export async function kernelsWith(
  replaced: (device: GPUDevice) => Partial<GPUDevice>,
  units = false,
): Promise<WebgpuKernels> {
  const { create, globals } = await import('webgpu');
  Object.assign(globalThis, globals);
  const gpu = create([]);
  instances.push(gpu);
  const { device } = await openDevice(gpu);
  const options = { adapter: 'Test GPU', openFile, openScratch: scratchFile, packedDot: units, units };
  return webgpuKernels({ device: changed(device, replaced(device)), ...options });
}

/** A WebGPU object, whose methods know only the object itself, with other properties. */
export function changed<Target extends object>(target: Target, properties: Partial<Target>): Target {
  return new Proxy(target, {
    get(_, key) {
      if (key in properties) return Reflect.get(properties, key);
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
