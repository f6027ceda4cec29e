import { type Cluster, createCluster } from '../../../engine/hardware/cluster.ts';
import type { Device } from '../../../engine/hardware/device.ts';
import { LARGER_DEVICE, type Truth } from './policies.ts';

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

/** Of the memory that is free, what prima.cpp's program reports as available on Linux (MemAvailable). */
const REPORTED_SHARE = 0.8;

/** The devices as they are, where `stated` is what the paper says of them. */
export function trueCluster(stated: Cluster, truth: Truth): Cluster {
  switch (truth) {
    case 'stated':
      return stated;
    case 'd3-larger':
      return withLargerD3(stated);
    case 'share-reported':
      return withDevices(stated, (device) =>
        device.os === 'macos'
          ? device
          : { ...device, memory: { ...device.memory, available: device.memory.available / REPORTED_SHARE } },
      );
  }
}

/** The cluster in which D3 has `bytes` for the model. */
export function withLargerD3(cluster: Cluster, bytes: number = LARGER_D3.middle): Cluster {
  return withDevice(cluster, LARGER_DEVICE, (device) => ({
    ...device,
    memory: { ...device.memory, available: bytes },
  }));
}
