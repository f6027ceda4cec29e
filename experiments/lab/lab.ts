import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import { createDeviceGroup, type DeviceGroup } from './cgroups/device-group.ts';
import { endProcesses } from './end-processes.ts';
import type { LabGround } from './ground.ts';
import { formatLabName, processStart } from './name.ts';
import { createLabNetwork, type DeviceNamespace, listNamespaces, removeNamespaces } from './network.ts';
import { runProgram } from './run-program.ts';
import { REAL_FILES } from './system.ts';

/** A cluster on this machine: a network of its own, and control groups for its devices. */
export interface Lab {
  readonly cluster: Cluster;
  /** Of the cluster's devices, in their order. */
  readonly namespaces: readonly DeviceNamespace[];
  /** For the parts of models; goes with the lab. */
  readonly folder: string;
  readonly ground: LabGround;
  /** Groups for a run: a run's peaks and counts begin at nothing. */
  createGroup(device: string): DeviceGroup;
  /** Ends processes that are left, and removes all that the lab has made. May be called again. */
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
    removeNamespaces(
      runProgram,
      listNamespaces(runProgram).filter((name) => name.startsWith(nameOf(''))),
    );
    rmSync(folder, { recursive: true, force: true });
  };
  // Whatever ends this process but SIGKILL: what that leaves, the next lab removes.
  process.once('exit', close);
  const names = cluster.devices.map(({ name }) => name);
  const links = names.map((_, index) => cluster.link(index, (index + 1) % names.length));
  return {
    cluster,
    ground,
    folder,
    namespaces: createLabNetwork(runProgram, nameOf, names, links),
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
