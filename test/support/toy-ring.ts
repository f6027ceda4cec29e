import type { DeviceCosts, RingCosts } from '../../engine/cost/ring-costs.ts';
import type { DeviceKind } from '../../engine/hardware/device.ts';

/** A device with simple numbers: seconds per layer, bytes of memory. */
export interface ToyDevice {
  readonly name: string;
  readonly kind?: DeviceKind;
  /** Seconds per layer on the CPU, and on the GPU if there is one. */
  readonly cpuLayer: number;
  readonly gpuLayer?: number;
  /** Bytes for layers in RAM and on the GPU. */
  readonly available: number;
  readonly gpuRoom?: number;
  /** Bytes per second. */
  readonly reloadRate: number;
}

/** A ring of layers of 10 bytes without KV cache, buffers and output layer, with the same time for every hop. */
export function toyRing(layers: number, hopSeconds: number, devices: readonly ToyDevice[]): RingCosts {
  return {
    layers,
    routed: { bytes: 0, share: 1 },
    experts: { layers: () => 0, bytes: () => 0 },
    layerBytes: 10,
    kvBytes: 0,
    embeddingRowBytes: 0,
    outputBytes: 0,
    devices: devices.map(toyDevice),
    hop: (from, to) => (from === to ? 0 : hopSeconds),
    uniformHop: hopSeconds,
  };
}

function toyDevice({
  name,
  kind = 'linux',
  cpuLayer,
  gpuLayer,
  available,
  gpuRoom = 0,
  reloadRate,
}: ToyDevice): DeviceCosts {
  const nothing = { compute: 0, kvCopy: 0, memory: 0, overhead: 0 };
  return {
    name,
    kind,
    cpu: { ...nothing, compute: cpuLayer },
    gpu: gpuLayer === undefined ? undefined : { ...nothing, compute: gpuLayer },
    crossed: () => undefined,
    cpuLayer,
    gpuLayer: gpuLayer ?? Number.POSITIVE_INFINITY,
    windowCopy: 0,
    layerCopy: Number.POSITIVE_INFINITY,
    outputCopy: Number.POSITIVE_INFINITY,
    oneQueue: false,
    outputOnCpu: nothing,
    outputOnGpu: gpuLayer === undefined ? undefined : nothing,
    outputOnCpuTotal: 0,
    outputOnGpuTotal: gpuLayer === undefined ? Number.POSITIVE_INFINITY : 0,
    unified: kind === 'macos-metal',
    available,
    installed: available,
    ramBuffers: 0,
    gpuRoom,
    reloadRate,
  };
}
