import type { LabFiles } from '../system.ts';
import type { Controllers } from './controllers.ts';

/**
 * Memory of a group that can't be reclaimed: its processes' own, and the operating system's on their behalf (page tables
 * among it), bytes.
 *
 * Version 1 has a counter for the operating system's part, and the processes' files have theirs: reading them changes
 * nothing. Version 2 has both in memory.stat only, whose reading updates the groups' statistics, and so changes what
 * Linux reclaims (measured: a fifteenth less was read again).
 * @param folder of the memory controller's group
 * @param processes ids of its processes
 */
export function ownMemory(
  files: Pick<LabFiles, 'read'>,
  { memory }: Controllers,
  folder: string,
  processes: readonly number[],
): number {
  if (memory.version === 2) {
    const stat = files.read(`${folder}/memory.stat`);
    return field(stat, /^anon (\d+)$/m) + field(stat, /^kernel (\d+)$/m);
  }
  const anonymous = processes.map((id) => 1024 * field(statusOf(files, id), /^RssAnon:\s+(\d+) kB$/m));
  return Number(files.read(`${folder}/memory.kmem.usage_in_bytes`)) + anonymous.reduce((sum, one) => sum + one, 0);
}

/** Empty for a process that has just ended. */
function statusOf(files: Pick<LabFiles, 'read'>, id: number): string {
  try {
    return files.read(`/proc/${id}/status`);
  } catch {
    return '';
  }
}

/** 0 where a text has no such line. */
function field(text: string, pattern: RegExp): number {
  return Number(pattern.exec(text)?.[1] ?? 0);
}
