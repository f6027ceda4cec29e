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
  /** Whether subgroups of 32 lanes multiply matrices of 16 × 16 halves, with sums in float32. */
  readonly halfMatrices: boolean;
}

/** Error for a machine without a GPU. */
export function noGpu(reason = 'no Vulkan, Metal or Direct3D 12 driver that works'): InputError {
  return new InputError('GPU', `none was found (${reason}); run on the CPU instead`);
}

/** A feature of the language of shaders, which adds four products of bytes at once. */
const PACKED_DOT = 'packed_4x8_integer_dot_product';

/** Dawn's matrices, which WebGPU doesn't have yet. */
const MATRICES = 'chromium-experimental-subgroup-matrix';

/** Features that shaders use if the adapter has them. */
export type UsedFeature = GPUFeatureName | typeof PACKED_DOT | typeof MATRICES;

/** Features that shaders use where an adapter has them. */
const USED_FEATURES = ['subgroups', 'shader-f16', 'timestamp-query', MATRICES] as GPUFeatureName[];

/**
 * Opens a device on the machine's fastest GPU with all limits that the adapter has.
 * @param without features to do without, as on an adapter that lacks them
 * @throws InputError if there is no GPU, or none that allows WebGPU, or its driver fails
 */
export async function openDevice(gpu: GPU, without: readonly UsedFeature[] = []): Promise<OpenedGpu> {
  const adapter = await gpu.requestAdapter({ powerPreference: 'high-performance' });
  if (adapter === null) throw noGpu();
  const { maxBufferSize, maxStorageBufferBindingSize, maxComputeWorkgroupStorageSize } = adapter.limits;
  const { description, vendor, architecture, device: named, isFallbackAdapter: software } = adapter.info;
  const identifier = named || description || architecture || vendor || 'GPU';
  const opening = adapter.requestDevice({
    requiredFeatures: USED_FEATURES.filter((feature) => adapter.features.has(feature) && !without.includes(feature)),
    requiredLimits: { maxBufferSize, maxStorageBufferBindingSize, maxComputeWorkgroupStorageSize },
  });
  const device = await opening.catch((error: Error) => {
    const [reason = ''] = error.message.split('\n');
    throw new InputError(identifier, `the driver gives no device (${reason}); update it, or run on the CPU instead`);
  });
  const packedDot = gpu.wgslLanguageFeatures.has(PACKED_DOT) && !without.includes(PACKED_DOT);
  return {
    device,
    identifier,
    software,
    packedDot,
    halfMatrices: device.features.has(MATRICES) && multipliesHalves(adapter),
  };
}

interface MatrixConfig {
  readonly componentType: string;
  readonly resultComponentType: string;
  readonly M: number;
  readonly N: number;
  readonly K: number;
}

function multipliesHalves({ features, info }: GPUAdapter): boolean {
  const {
    subgroupMinSize,
    subgroupMaxSize,
    subgroupMatrixConfigs = [],
  } = info as GPUAdapterInfo & {
    readonly subgroupMatrixConfigs?: Iterable<MatrixConfig>;
  };
  const isUsed = ({ componentType, resultComponentType, M, N, K }: MatrixConfig) =>
    componentType === 'f16' && resultComponentType === 'f32' && M === 16 && N === 16 && K === 16;
  const hasSize = subgroupMinSize === 32 && subgroupMaxSize === 32;
  return hasSize && features.has('shader-f16') && features.has('subgroups') && [...subgroupMatrixConfigs].some(isUsed);
}
