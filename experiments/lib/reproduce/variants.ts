import { type Cluster, createCluster } from '../../../engine/hardware/cluster.ts';
import type { Device } from '../../../engine/hardware/device.ts';
import { LARGER_DEVICE } from './policies.ts';

const GIB = 2 ** 30;

/**
 * RAM of D3 between what llama.cpp takes there at 45B, which it ran at memory speed, and what it takes at 60B, which it
 * reloaded: weights outside VRAM, KV cache and buffers of 13.4 and 21.5 GiB. The middle is taken, the ends are shown.
 */
export const LARGER_D3 = { low: 13.5 * GIB, middle: 17.5 * GIB, high: 21.5 * GIB } as const;

/** The cluster with one device changed. */
export function withDevice(cluster: Cluster, name: string, change: (device: Device) => Device): Cluster {
  return createCluster({
    ...cluster,
    devices: cluster.devices.map((device) => (device.name === name ? change(device) : device)),
  });
}

/** The cluster with every device changed. */
export function withDevices(cluster: Cluster, change: (device: Device) => Device): Cluster {
  return createCluster({ ...cluster, devices: cluster.devices.map(change) });
}

/** The cluster in which D3 has `bytes` for the model. */
export function withLargerD3(cluster: Cluster, bytes: number = LARGER_D3.middle): Cluster {
  return withDevice(cluster, LARGER_DEVICE, (device) => ({
    ...device,
    memory: { ...device.memory, available: bytes },
  }));
}
