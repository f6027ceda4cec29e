import type { Controllers } from './cgroups/controllers.ts';
import { groupFolders, processesOf } from './cgroups/device-group.ts';
import { isLabAlive } from './is-lab-alive.ts';
import { parseLabName } from './name.ts';
import type { LabFiles } from './system.ts';

/** What a lab left of one part of it, that didn't clean up after itself. */
export interface DeadLab {
  readonly name: string;
  /** Folders of control groups, where there are any. */
  readonly folders: readonly string[];
  readonly hasNamespace: boolean;
}

/**
 * What labs left whose process is gone. Names that no lab gives, and those of labs that run, are not looked at: a process
 * is the one that made a lab if it has its number and started when it did.
 */
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
    // A process of another container, and so is the lab, whose number means nothing here.
    if (processesOf(files, folders).includes(0)) return [];
    return [{ name, folders, hasNamespace: namespaces.includes(name) }];
  });
}
