import { join } from 'node:path';
import type { LabFiles } from '../system.ts';

/** Resources that control groups limit for a lab. */
export const RESOURCES = ['memory', 'disk', 'cpu'] as const;
export type Resource = (typeof RESOURCES)[number];

/** Folder in which the groups of a resource are made, and the version of its interface. */
export interface Controller {
  readonly version: 1 | 2;
  readonly root: string;
}

export type Controllers = Readonly<Record<Resource, Controller>>;

const ROOT = '/sys/fs/cgroup';

/** Version 1: the hierarchy's folder and a file that exists only with the controller. Version 2: the controller's name. */
const NAMES: Readonly<Record<Resource, { folder: string; file: string; controller: string }>> = {
  memory: { folder: 'memory', file: 'memory.limit_in_bytes', controller: 'memory' },
  disk: { folder: 'blkio', file: 'blkio.throttle.read_bps_device', controller: 'io' },
  cpu: { folder: 'cpu', file: 'cpu.shares', controller: 'cpu' },
};

/**
 * Finds the version of control groups that controls each resource; systems may mix both. A controller of version 2 is
 * available to groups below the root once `cgroup.subtree_control` names it (Linux, Documentation/admin-guide:
 * cgroup-v1, cgroup-v2.rst).
 * @returns the controllers, and a message for each that is missing
 */
export function findControllers(files: LabFiles): { found: Partial<Controllers>; missing: string[] } {
  const found: { [resource in Resource]?: Controller } = {};
  const missing: string[] = [];
  const unified = [ROOT, join(ROOT, 'unified')].find((root) => files.exists(join(root, 'cgroup.subtree_control')));
  const enabled = unified === undefined ? [] : files.read(join(unified, 'cgroup.subtree_control')).trim().split(/\s+/);
  for (const resource of RESOURCES) {
    const { folder, file, controller } = NAMES[resource];
    if (files.exists(join(ROOT, folder, file))) found[resource] = { version: 1, root: join(ROOT, folder) };
    else if (unified !== undefined && enabled.includes(controller)) found[resource] = { version: 2, root: unified };
    else
      missing.push(
        `no control groups for ${resource}: neither ${join(ROOT, folder)} (version 1) nor "${controller}" in ` +
          `${join(unified ?? ROOT, 'cgroup.subtree_control')} (version 2)`,
      );
  }
  return { found, missing };
}
