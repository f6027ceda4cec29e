import { type Cluster, createCluster } from '../../engine/hardware/cluster.ts';
import type { Device } from '../../engine/hardware/device.ts';

/** The example that goes through the lessons: two models that none of four machines can hold, and these machines. */

/** Key of the cluster in datasets/clusters: the home testbed of prima.cpp (Table 3). */
export const HOME = 'prima-home';
/** A dense model of 70 billion weights, which the lessons have in 4 bits. */
export const LARGE = 'Llama-3-70B';
/** A mixture of 117 billion weights, of which a token uses 5. */
export const MIXTURE = 'gpt-oss-120b';

/** The machines by the names of the lessons, the head first. */
export const MACHINES = {
  PC: 'D3',
  laptop: 'D2',
  Mac: 'D1',
  phone: 'D4',
} as const;
export type Machine = keyof typeof MACHINES;

/** A machine of the example. @param home the cluster. @throws RangeError if the cluster has no such device */
export function machineOf(home: Cluster, machine: Machine): Device {
  const found = home.devices.find(({ name }) => name === MACHINES[machine]);
  if (found === undefined) throw new RangeError(`${home.name} has no ${MACHINES[machine]}`);
  return found;
}

/** A machine of the example by itself. @throws RangeError if the cluster has no such device */
export function alone(home: Cluster, machine: Machine): Cluster {
  return createCluster({ ...home, name: `the ${machine}`, devices: [machineOf(home, machine)] });
}
