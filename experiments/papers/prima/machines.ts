import type { ReclaimPolicy } from '../../../engine/cost/reclaim.ts';
import { type Cluster, createCluster } from '../../../engine/hardware/cluster.ts';
import type { Device } from '../../../engine/hardware/device.ts';
import type { SimulationOptions } from '../../../simulator/options.ts';

/**
 * How the operating systems of the testbeds reclaim, the same for every system and table. Simulated: each as itself.
 * Predicted: a cyclic scan reloads all that is mapped, as measured on Linux kernels under either of its policies, where
 * App. A.3 reloads the overflow only (the closed forms have one policy for all devices).
 */
export const OPERATING_SYSTEMS = {
  predicted: 'lru',
  simulated: 'os',
} as const satisfies { readonly predicted: ReclaimPolicy; readonly simulated: SimulationOptions['reclaim'] };

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

/** The cluster with other RAM for a model on one device, bytes. */
export function withMemory(cluster: Cluster, name: string, available: number): Cluster {
  return withDevice(cluster, name, (device) => ({ ...device, memory: { ...device.memory, available } }));
}
