import { type Cluster, createCluster } from '../../engine/hardware/cluster.ts';
import { MACHINES, type Machine, machineOf } from '../lib/example.ts';

/** The reader's settings of a device; the rest is as its kind has it. */
export interface ChosenDevice {
  readonly kind: Machine;
  /** GiB of RAM for weights, KV cache and buffers. */
  readonly memory: number;
  /** GB/s of sequential reading. */
  readonly disk: number;
}

const GIB = 2 ** 30;

/** A device as its kind has it. @param home prima.cpp's home cluster */
export function defaultDevice(home: Cluster, kind: Machine): ChosenDevice {
  const { memory, disk } = machineOf(home, kind);
  return { kind, memory: Number((memory.available / GIB).toFixed(1)), disk: disk.sequential / 1e9 };
}

/** prima.cpp's home cluster, in its order: the PC is the head. */
export function homeDevices(home: Cluster): ChosenDevice[] {
  const kinds = Object.keys(MACHINES) as Machine[];
  return home.devices.map(({ name }) => defaultDevice(home, kinds.find((kind) => MACHINES[kind] === name) as Machine));
}

/** Names of the devices: their kinds, numbered where a kind occurs more than once. */
export function namesOf(devices: readonly ChosenDevice[]): string[] {
  return devices.map(({ kind }, index) => {
    const before = devices.slice(0, index).filter((one) => one.kind === kind).length;
    const several = devices.filter((one) => one.kind === kind).length > 1;
    return several ? `${kind} ${before + 1}` : kind;
  });
}

/** The reader's cluster, the head first. All links are as the home's default. */
export function clusterOf(home: Cluster, chosen: readonly ChosenDevice[]): Cluster {
  const names = namesOf(chosen);
  const devices = chosen.map(({ kind, memory, disk }, index) => {
    const own = machineOf(home, kind);
    const { sequential, random } = own.disk;
    return {
      ...own,
      name: names[index] as string,
      memory: { ...own.memory, total: Math.max(own.memory.total, memory * GIB), available: memory * GIB },
      disk: { sequential: disk * 1e9, random: (disk * 1e9 * random) / sequential },
    };
  });
  return createCluster({ name: 'yours', devices, links: { default: home.links.default, pairs: new Map() } });
}
