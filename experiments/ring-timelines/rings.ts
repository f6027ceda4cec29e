import { evenModel } from '../../datasets/even-model.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import { parseCluster } from '../../engine/hardware/parse-cluster.ts';

export const RING_MODEL = evenModel(32);

/** The properties in which the devices of Fig. 6 differ. */
interface RingDevice {
  readonly name: string;
  readonly disk: string;
  /** Rate at which its processor reads weights, bytes per second: a layer takes 27 ms at 5 GB/s. */
  readonly bandwidth: string;
}

const FAST = '2 GB/s';
const SLOW = '500 MB/s';

/**
 * Four Linux devices of given speeds: each has room for three and a half layers in addition to its buffers, and sends activations
 * in 2 ms. All values are assumed: Fig. 6 is a sketch without numbers.
 */
function ringOf(name: string, devices: readonly RingDevice[]): Cluster {
  const described = devices.map(({ name, disk, bandwidth }) => ({
    name,
    os: 'linux',
    memory: { total: '2 GiB', available: '0.7 GiB' },
    cpu: { cores: 4, compute: '100 TFLOPS', bandwidth },
    disk: { sequential: disk },
  }));
  const links = { default: { latency: '2 ms', bandwidth: '1 Gbps' } };
  return parseCluster(JSON.stringify({ name, devices: described, links }), name);
}

const alike = (disk: string): RingDevice[] =>
  [1, 2, 3, 4].map((number) => ({ name: `device ${number}`, disk, bandwidth: '5 GB/s' }));

export const ALIKE_FAST = ringOf('four equal devices with fast disks', alike(FAST));
export const ALIKE_SLOW = ringOf('four equal devices with slow disks', alike(SLOW));

/** The first computes twice as fast as the others, the last has a slow disk. */
export const MIXED = ringOf('four different devices', [
  { name: 'device 1', disk: FAST, bandwidth: '10 GB/s' },
  { name: 'device 2', disk: FAST, bandwidth: '5 GB/s' },
  { name: 'device 3', disk: FAST, bandwidth: '5 GB/s' },
  { name: 'device 4', disk: SLOW, bandwidth: '5 GB/s' },
]);
