import { join } from 'node:path';
import type { LabFiles } from '../system.ts';
import { type Controllers, RESOURCES } from './controllers.ts';
import { type DeviceLimits, limitWrites } from './limits.ts';
import { ownMemory } from './own-memory.ts';
import { type GroupReadings, groupReadings } from './readings.ts';

/** The control groups of a device: a single one in version 2, one per resource in version 1. */
export interface DeviceGroup {
  /** Files to which a process writes its id to join; it must do so before it opens its weights. */
  readonly joins: readonly string[];
  limit(limits: DeviceLimits): void;
  readings(): GroupReadings;
  /** See ownMemory. */
  ownBytes(): number;
  processes(): readonly number[];
  /** May be called again. @throws Error while processes are left in the group */
  remove(): void;
}

export interface DeviceGroupParts {
  readonly files: LabFiles;
  readonly controllers: Controllers;
  /** From formatLabName. */
  readonly name: string;
  /** `major:minor` of the disk that holds the weights. */
  readonly disk: string;
}

/** Makes a device's groups. @throws Error if one can't be made; those made before it are removed */
export function createDeviceGroup({ files, controllers, name, disk }: DeviceGroupParts): DeviceGroup {
  const folders = groupFolders(controllers, name);
  const made: string[] = [];
  const remove = (): void => {
    for (let folder = made.at(-1); folder !== undefined; folder = made.at(-1)) {
      files.removeFolder(folder);
      made.pop();
    }
  };
  try {
    for (const folder of folders) {
      files.makeFolder(folder);
      made.push(folder);
    }
  } catch (error) {
    remove();
    throw error;
  }
  const path = (resource: keyof Controllers, file: string): string => join(controllers[resource].root, name, file);
  return {
    joins: folders.map((folder) => join(folder, 'cgroup.procs')),
    limit(limits) {
      for (const { resource, file, value } of limitWrites(limits, disk, controllers))
        files.write(path(resource, file), value);
    },
    readings: () => groupReadings(controllers, (resource, file) => files.read(path(resource, file)), disk),
    ownBytes: () => ownMemory(files, controllers, join(controllers.memory.root, name), processesOf(files, folders)),
    processes: () => processesOf(files, folders),
    remove,
  };
}

/** Folders of the groups with this name, each once. */
export function groupFolders(controllers: Partial<Controllers>, name: string): string[] {
  const roots = RESOURCES.flatMap((resource) => controllers[resource]?.root ?? []);
  return [...new Set(roots)].map((root) => join(root, name));
}

/** Ids of the processes in some groups; 0 stands for a process of another container. */
export function processesOf(files: LabFiles, folders: readonly string[]): number[] {
  const lists = folders.map((folder) => join(folder, 'cgroup.procs')).filter((file) => files.exists(file));
  const numbers = lists.flatMap((file) => files.read(file).split('\n').filter(Boolean));
  return [...new Set(numbers)].map(Number);
}
