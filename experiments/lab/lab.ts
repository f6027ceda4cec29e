import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { processStart } from '../../engine/files/process-mark.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import { createDeviceGroup, type DeviceGroup } from './cgroups/device-group.ts';
import type { LabGround } from './ground.ts';
import { formatLabName } from './name.ts';
import { createLabNetwork, type DeviceNamespace, listNamespaces, removeNamespaces } from './network.ts';
import { endProcesses } from './processes.ts';
import { REAL_FILES, runProgram } from './system.ts';

/** A cluster on this machine: a network of its own, and control groups for its devices. */
export interface Lab {
  readonly cluster: Cluster;
  /** Names of the cluster's devices, in their order. */
  readonly devices: readonly string[];
  /** One per device, in the same order. */
  readonly namespaces: readonly DeviceNamespace[];
  /** Holds the devices' parts of models; removed with the lab. */
  readonly folder: string;
  readonly ground: LabGround;
  /** New groups for a device, in place of those it had: peaks and counts start from zero. */
  createGroup(device: string): DeviceGroup;
  /** Ends the remaining processes and removes everything that the lab has made. May be called again. */
  close(): void;
}

/** @param models an existing folder on the disk that is throttled */
export function openLab(cluster: Cluster, ground: LabGround, models: string): Lab {
  const start = processStart(REAL_FILES.read('/proc/self/stat'));
  const nameOf = (part: string): string => formatLabName({ pid: process.pid, start, part });
  const groups = new Map<string, DeviceGroup>();
  const folder = join(models, nameOf('parts'));
  mkdirSync(folder);
  const close = (): void => {
    for (const [device, group] of groups) {
      removeGroup(group);
      groups.delete(device);
    }
    const own = listNamespaces(runProgram).filter((name) => name.startsWith(nameOf('')));
    removeNamespaces(runProgram, own);
    rmSync(folder, { recursive: true, force: true });
  };
  // Runs however this process ends, except by SIGKILL; the next lab removes what that leaves.
  process.once('exit', close);
  const devices = cluster.devices.map(({ name }) => name);
  const links = devices.map((_, index) => cluster.link(index, (index + 1) % devices.length));
  return {
    cluster,
    devices,
    ground,
    folder,
    namespaces: createLabNetwork({ run: runProgram, nameOf, devices, links }),
    createGroup(device) {
      const old = groups.get(device);
      if (old !== undefined) removeGroup(old);
      const group = createDeviceGroup({ files: REAL_FILES, ...ground, name: nameOf(device) });
      groups.set(device, group);
      return group;
    },
    close() {
      process.off('exit', close);
      close();
    },
  };
}

function removeGroup(group: DeviceGroup): void {
  endProcesses(group.processes, group.remove);
}
