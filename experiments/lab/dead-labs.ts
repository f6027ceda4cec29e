import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Controllers } from './cgroups/controllers.ts';
import { groupFolders, processesOf } from './cgroups/device-group.ts';
import type { LabGround } from './ground.ts';
import { isLabAlive, parseLabName } from './name.ts';
import { listNamespaces, removeNamespaces } from './network.ts';
import { endProcesses } from './processes.ts';
import { type LabFiles, REAL_FILES, runProgram } from './system.ts';

/** Remains of one part of a lab whose process ended without cleaning up. */
export interface DeadLab {
  readonly name: string;
  /** Folders of its control groups. */
  readonly folders: readonly string[];
  readonly hasNamespace: boolean;
}

/** Finds remains of labs whose process no longer runs; running labs, and names that no lab gives, are omitted. */
export function findDeadLabs(
  files: LabFiles,
  controllers: Partial<Controllers>,
  namespaces: readonly string[],
): DeadLab[] {
  const roots = new Set(Object.values(controllers).map(({ root }) => root));
  const groups = [...roots].flatMap((root) => files.list(root));
  const names = [...new Set([...groups, ...namespaces])];
  return names.flatMap((name) => {
    const parsed = parseLabName(name);
    if (parsed === undefined || isLabAlive(files, parsed)) return [];
    const folders = groupFolders(controllers, name).filter((folder) => files.exists(folder));
    // A process of another container: the lab may run there, and its id has no meaning here.
    if (processesOf(files, folders).includes(0)) return [];
    return [{ name, folders, hasNamespace: namespaces.includes(name) }];
  });
}

/**
 * Removes remains of labs whose process no longer runs: processes in their groups, the groups, namespaces, and
 * parts of models.
 * @param models folder where labs keep the parts of models
 * @returns the names of what was removed
 */
export function removeDeadLabs({ controllers }: Pick<LabGround, 'controllers'>, models: string): string[] {
  const dead = findDeadLabs(REAL_FILES, controllers, listNamespaces(runProgram));
  for (const { folders, name, hasNamespace } of dead) {
    for (const folder of folders) {
      endProcesses(
        () => processesOf(REAL_FILES, [folder]),
        () => REAL_FILES.removeFolder(folder),
      );
    }
    if (hasNamespace) removeNamespaces(runProgram, [name]);
  }
  const parts = REAL_FILES.list(models).filter((name) => {
    const parsed = parseLabName(name);
    return parsed !== undefined && !isLabAlive(REAL_FILES, parsed);
  });
  for (const name of parts) rmSync(join(models, name), { recursive: true, force: true });
  return [...new Set([...dead.map(({ name }) => name), ...parts])];
}
