import { type Cluster, createCluster } from '../engine/hardware/cluster.ts';
import { type Device, type DeviceKind, type FlopRates, type Gpu, isDiscrete } from '../engine/hardware/device.ts';
import { type RandomStream, randomStream } from '../engine/input/random-stream.ts';
import { QUANTIZATION_NAMES } from '../engine/model/quantization.ts';

/** How the cluster's RAM and VRAM together compare with the model: shares of its bytes. */
export const MEMORY_REGIMES = {
  scarce: [0.25, 0.5],
  short: [0.5, 1],
  enough: [1, 1.5],
  plenty: [1.5, 4],
} as const satisfies Record<string, readonly [number, number]>;
export type MemoryRegime = keyof typeof MEMORY_REGIMES;

export interface RandomClusterOptions {
  readonly seed: number;
  readonly devices: number;
  readonly regime: MemoryRegime;
  /** Bytes of the model that the regime refers to. */
  readonly modelBytes: number;
  /** Kinds to draw from; all unless given. */
  readonly kinds?: readonly DeviceKind[];
}

const KINDS: readonly DeviceKind[] = ['macos', 'macos-metal', 'linux', 'android'];
const MIB = 2 ** 20;
/** The least memory of a device, bytes: every device needs room for buffers as well as weights. */
const LEAST_MEMORY = 1024 * MIB;

/**
 * A made-up home cluster: rates are drawn log-uniformly from the range that phones, laptops and desktops of the papers
 * span (prima.cpp Table 3 and their specifications), memory is scaled to the regime. Same options, same cluster.
 */
export function randomCluster({ seed, devices, regime, modelBytes, kinds = KINDS }: RandomClusterOptions): Cluster {
  const stream = randomStream(seed, 'cluster');
  const drawn = Array.from({ length: devices }, (_, index) => drawDevice(stream, `D${index + 1}`, stream.pick(kinds)));
  const total = drawn.reduce((sum, device) => sum + device.memory.available + ownVram(device), 0);
  const [low, high] = MEMORY_REGIMES[regime];
  const scale = (stream.uniform(low, high) * modelBytes) / total;
  return createCluster({
    name: `random-${seed}`,
    description: `${devices} devices, memory ${regime}`,
    devices: drawn.map((device) => scaleMemory(device, scale)),
    links: {
      default: { latency: stream.logUniform(0.2e-3, 8e-3), bandwidth: stream.logUniform(10e6, 120e6) },
      pairs: new Map(),
    },
  });
}

function drawDevice(stream: RandomStream, name: string, kind: DeviceKind): Device {
  const metal = kind === 'macos-metal';
  const cuda = kind === 'linux' && stream.next() < 0.6;
  const bandwidth = stream.logUniform(10e9, 80e9);
  const available = stream.logUniform(1.5e9, 16e9);
  const disk = stream.logUniform(0.05e9, 5e9);
  const memory = { total: 2 * available, available };
  const android = kind === 'android';
  const gpu = metal || cuda ? drawGpu(stream, cuda ? 'cuda' : 'metal', available) : undefined;
  return {
    name,
    description: kind,
    os: kind === 'macos-metal' ? 'macos' : kind,
    memory: {
      ...memory,
      swappable: android ? stream.uniform(0, 1e9) : 0,
      swapFree: android ? stream.uniform(0, 1e9) : 0,
    },
    cpu: {
      cores: stream.integer(4, 16),
      flops: flat(stream.logUniform(50e9, 1500e9)),
      bandwidth,
      kvCopyLatency: 1e-6,
      cache: undefined,
    },
    gpu,
    npu: undefined,
    disk: { sequential: disk, random: disk * stream.uniform(0.25, 1) },
  };
}

function drawGpu(stream: RandomStream, api: 'cuda' | 'metal', available: number): Gpu {
  const common = {
    flops: flat(stream.logUniform(1e12, 20e12)),
    kvCopyLatency: 5e-6,
    layerOverhead: 0,
  };
  if (api === 'metal') {
    return { ...common, api, bandwidth: stream.logUniform(40e9, 300e9), memory: { total: 2 * available, available } };
  }
  const vram = stream.logUniform(3e9, 16e9);
  return {
    ...common,
    api,
    bandwidth: stream.logUniform(100e9, 800e9),
    memory: { total: vram, available: vram },
    hostLink: { latency: 10e-6, bandwidth: 12e9 },
  };
}

function scaleMemory(device: Device, scale: number): Device {
  const scaled = (bytes: number): number => Math.max(LEAST_MEMORY, bytes * scale);
  const { gpu, memory } = device;
  const sized = { total: scaled(memory.total), available: scaled(memory.available) };
  return {
    ...device,
    memory: { ...memory, ...sized },
    gpu: gpu && { ...gpu, memory: { total: scaled(gpu.memory.total), available: scaled(gpu.memory.available) } },
  };
}

function ownVram(device: Device): number {
  return isDiscrete(device.gpu) ? device.gpu.memory.available : 0;
}

function flat(rate: number): FlopRates {
  return Object.fromEntries(QUANTIZATION_NAMES.map((name) => [name, rate])) as FlopRates;
}
