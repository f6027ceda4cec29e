import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { processesOf } from './cgroups/device-group.ts';
import { findDeadLabs } from './dead-labs.ts';
import { endProcesses } from './end-processes.ts';
import type { LabGround } from './ground.ts';
import { isLabAlive } from './is-lab-alive.ts';
import { parseLabName } from './name.ts';
import { listNamespaces, removeNamespaces } from './network.ts';
import { runProgram } from './run-program.ts';
import { REAL_FILES } from './system.ts';

/**
 * Removes what labs left whose process is gone: processes in their groups, the groups, namespaces, parts of models.
 * @param models where labs keep their parts
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
