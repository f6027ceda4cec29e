import { type Cluster, createCluster } from '../../../engine/hardware/cluster.ts';
import type { Device } from '../../../engine/hardware/device.ts';
import { LARGER_DEVICE, type Truth } from './policies.ts';

const GIB = 2 ** 30;

/**
 * Bytes of D3's RAM: more than llama.cpp takes at 45B, which ran at memory speed, and less than it takes at 60B, which was
 * reloaded. Weights outside VRAM, KV cache and buffers come to 13.4 and 21.5 GiB. The middle is used, the ends are shown.
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

/** Share of the free memory (MemAvailable) that prima.cpp's program reports as available on Linux. */
const REPORTED_SHARE = 0.8;

/** The devices as they are taken to be, from the devices as the paper states them. */
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
