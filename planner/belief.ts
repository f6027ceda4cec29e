import { PAGE_TABLES } from '../engine/cost/reclaim.ts';
import { type Cluster, createCluster } from '../engine/hardware/cluster.ts';
import { type Device, hasUnifiedGpu } from '../engine/hardware/device.ts';
import { DEFAULT_EXTENT_BYTES } from '../simulator/page-cache/page-cache.ts';

/** Bytes at the ends of mapped weights that are kept in whole extents of the page cache: layers, output layer, row. */
const PARTLY_USED = 4 * DEFAULT_EXTENT_BYTES;

/**
 * A cluster as a scheduler should believe it to be: memory without what mapped weights take in addition to themselves,
 * which prima.cpp's closed forms don't know. Plans fill memory to the last layer, and under LRU those that exceed it by
 * a page reload everything, so that without this some plans take a hundred times as long as predicted.
 */
export const believed = remembered((cluster) =>
  withMemory(cluster, (available) => room(available) / (1 + PAGE_TABLES)),
);

/**
 * The same for closed forms that count page tables themselves: those with overlap, and `ring-aware`, which minimises
 * them.
 */
export const believedBesidePageTables = remembered((cluster) => withMemory(cluster, room));

/** Remembers beliefs by cluster: the same object each time, so that values cached for it are found again. */
function remembered(believe: (cluster: Cluster) => Cluster): (cluster: Cluster) => Cluster {
  const known = new WeakMap<Cluster, Cluster>();
  return (cluster) => {
    const belief = known.get(cluster) ?? believe(cluster);
    known.set(cluster, belief);
    return belief;
  };
}

function room(available: number): number {
  return Math.max(0, available - PARTLY_USED);
}

/**
 * @param left bytes of RAM for weights, KV cache and buffers; what Metal may hold has no page tables in addition to it
 */
function withMemory(cluster: Cluster, left: (available: number) => number): Cluster {
  const devices = cluster.devices.map((device): Device => {
    const own = { ...device, memory: { ...device.memory, available: left(device.memory.available) } };
    if (!hasUnifiedGpu(device)) return own;
    const { memory } = device.gpu;
    return { ...own, gpu: { ...device.gpu, memory: { ...memory, available: room(memory.available) } } };
  });
  return createCluster({ ...cluster, devices });
}
