import { PAGE_TABLES } from '../../engine/cost/reclaim.ts';
import { type Cluster, createCluster } from '../../engine/hardware/cluster.ts';
import { type Device, hasUnifiedGpu } from '../../engine/hardware/device.ts';
import { DEFAULT_EXTENT_BYTES } from '../../simulator/page-cache/page-cache.ts';

/** Bytes at the ends of mapped weights that are kept in whole extents of the page cache: layers, output layer, row. */
const PARTLY_USED = 4 * DEFAULT_EXTENT_BYTES;

/**
 * A cluster as a scheduler should believe it to be: memory without what mapped weights take beside themselves, which
 * closed forms don't know. Plans fill memory to the last layer, and under LRU those that exceed it by a page reload
 * everything, so that without this some plans take a hundred times as long as predicted.
 */
export function believed(cluster: Cluster): Cluster {
  return createCluster({ ...cluster, devices: cluster.devices.map(believedDevice) });
}

function believedDevice(device: Device): Device {
  const { memory } = device;
  const available = Math.max(0, memory.available - PARTLY_USED) / (1 + PAGE_TABLES);
  const own = { ...device, memory: { ...memory, available } };
  if (!hasUnifiedGpu(device)) return own;
  const { gpu } = device;
  const room = Math.max(0, gpu.memory.available - PARTLY_USED);
  return { ...own, gpu: { ...gpu, memory: { ...gpu.memory, available: room } } };
}
