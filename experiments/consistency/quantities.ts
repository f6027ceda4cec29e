import { type Cluster, createCluster } from '../../engine/hardware/cluster.ts';
import { type Device, type Gpu, isDiscrete } from '../../engine/hardware/device.ts';

const GIB = 2 ** 30;
const MIB = 2 ** 20;

/** Kind of an unknown of a testbed, and its devices; all devices unless some are named. */
export type Quantity =
  /** GiB of RAM that the model may use: the truth only, since belief is what the program reported. */
  | { readonly kind: 'ram'; readonly devices: readonly string[] }
  /** GB/s at which the disk reads in sequence. */
  | { readonly kind: 'disk'; readonly devices: readonly string[] }
  /** Share of the GPUs' assumed bandwidth and arithmetic. */
  | { readonly kind: 'gpu-rate' }
  /** Share of the CPUs' assumed bandwidth and arithmetic. */
  | { readonly kind: 'cpu-rate' }
  /** MiB of each CUDA GPU's memory that neither weights nor buffers can have. */
  | { readonly kind: 'vram-kept' }
  /** ms until the first byte of a message arrives. */
  | { readonly kind: 'latency' }
  /** Tokens that prima.cpp's KV cache has room for. */
  | { readonly kind: 'kv-room' };

/** A testbed with values for its unknowns. */
export interface Setting {
  /** The cluster as the scheduler sees it, and as it is. */
  readonly belief: Cluster;
  readonly truth: Cluster;
  /** Bytes of VRAM that llama.cpp leaves free in addition to its buffers. */
  readonly vramKept: number;
  /** Tokens of prima.cpp's KV cache. */
  readonly kvRoom: number;
}

/** Whether plans depend on the quantity. They don't on the true RAM. */
export function changesPlans({ kind }: Quantity): boolean {
  return kind !== 'ram';
}

/** The setting with a value of one quantity. */
export function withQuantity(setting: Setting, quantity: Quantity, value: number): Setting {
  const both = (change: (device: Device) => Device, devices?: readonly string[]): Setting => ({
    ...setting,
    belief: changed(setting.belief, change, devices),
    truth: changed(setting.truth, change, devices),
  });
  switch (quantity.kind) {
    case 'ram':
      return { ...setting, truth: changed(setting.truth, (device) => withRam(device, value * GIB), quantity.devices) };
    case 'disk':
      return both((device) => ({ ...device, disk: { ...device.disk, sequential: value * 1e9 } }), quantity.devices);
    case 'gpu-rate':
      return both((device) => ({ ...device, gpu: device.gpu && scaled(device.gpu, value) }));
    case 'cpu-rate':
      return both((device) => ({ ...device, cpu: scaled(device.cpu, value) }));
    case 'vram-kept':
      return { ...setting, vramKept: value * MIB };
    case 'latency': {
      const withLatency = (cluster: Cluster): Cluster => {
        const { links } = cluster;
        return createCluster({ ...cluster, links: { ...links, default: { ...links.default, latency: value / 1e3 } } });
      };
      return { ...setting, belief: withLatency(setting.belief), truth: withLatency(setting.truth) };
    }
    case 'kv-room':
      return { ...setting, kvRoom: value };
  }
}

function changed(cluster: Cluster, change: (device: Device) => Device, devices?: readonly string[]): Cluster {
  const isMeant = ({ name }: Device): boolean => devices === undefined || devices.includes(name);
  return createCluster({
    ...cluster,
    devices: cluster.devices.map((device) => (isMeant(device) ? change(device) : device)),
  });
}

/** A device with this many bytes for the model; a GPU in the same memory may have as many. */
function withRam(device: Device, bytes: number): Device {
  const memory = { ...device.memory, available: bytes };
  const { gpu } = device;
  if (gpu === undefined || isDiscrete(gpu)) return { ...device, memory };
  const available = Math.max(gpu.memory.available, bytes);
  return { ...device, memory, gpu: { ...gpu, memory: { ...gpu.memory, available } } };
}

function scaled<Rates extends Device['cpu'] | Gpu>(rates: Rates, factor: number): Rates {
  const flops = Object.fromEntries(Object.entries(rates.flops).map(([format, rate]) => [format, rate * factor]));
  return { ...rates, flops: flops as Rates['flops'], bandwidth: rates.bandwidth * factor };
}
