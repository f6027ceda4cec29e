import { InputError } from '../../input/input-error.ts';

/** A GPU and the device that was opened on it. */
export interface OpenedGpu {
  readonly device: GPUDevice;
  /** The adapter's name as WebGPU gives it: in lower case, with hyphens. */
  readonly identifier: string;
  /** Whether the CPU computes, by a driver that stands for a GPU. */
  readonly software: boolean;
  /** Whether WGSL has dot products of packed bytes. */
  readonly packedDot: boolean;
}

/** What a machine without a GPU is told. */
export function noGpu(reason = 'no Vulkan, Metal or Direct3D 12 driver that works'): InputError {
  return new InputError('GPU', `none was found (${reason}); run on the CPU instead`);
}

/** A feature of the language of shaders, which adds four products of bytes at once. */
const PACKED_DOT = 'packed_4x8_integer_dot_product';

/** What shaders use where it is there. */
export type UsedFeature = GPUFeatureName | typeof PACKED_DOT;

/** Features that shaders use where an adapter has them. */
const USED_FEATURES: readonly GPUFeatureName[] = ['subgroups', 'shader-f16', 'timestamp-query'];

/**
 * Opens a device on the machine's fastest GPU with all limits that the adapter has.
 * @param without features to do without, as on an adapter that lacks them
 * @throws InputError if there is no GPU, or none that allows WebGPU, or its driver fails
 */
export async function openDevice(gpu: GPU, without: readonly UsedFeature[] = []): Promise<OpenedGpu> {
  const adapter = await gpu.requestAdapter({ powerPreference: 'high-performance' });
  if (adapter === null) throw noGpu();
  const { maxBufferSize, maxStorageBufferBindingSize } = adapter.limits;
  const { description, vendor, architecture, device: named, isFallbackAdapter: software } = adapter.info;
  const identifier = named || description || architecture || vendor || 'GPU';
  const opening = adapter.requestDevice({
    requiredFeatures: USED_FEATURES.filter((feature) => adapter.features.has(feature) && !without.includes(feature)),
    requiredLimits: { maxBufferSize, maxStorageBufferBindingSize },
  });
  const device = await opening.catch((error: Error) => {
    const [reason = ''] = error.message.split('\n');
    throw new InputError(identifier, `the driver gives no device (${reason}); update it, or run on the CPU instead`);
  });
  const packedDot = gpu.wgslLanguageFeatures.has(PACKED_DOT) && !without.includes(PACKED_DOT);
  return { device, identifier, software, packedDot };
}
