import { realpathSync, statfsSync, statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { formatBytes } from '../../engine/terminal/format.ts';
import { type Controllers, findControllers } from './cgroups/controllers.ts';
import type { RunProgram } from './network.ts';
import type { LabFiles } from './system.ts';

/** What a lab needs of a machine, as it was found. */
export interface LabGround {
  readonly controllers: Controllers;
  /** `major:minor` of the disk that models lie on, as a whole. */
  readonly disk: string;
}

/**
 * @param folder where models and their parts lie
 * @param bytes that will be written there
 * @returns the ground, or a line for everything that is missing
 */
export function findLabGround(
  files: LabFiles,
  run: RunProgram,
  folder: string,
  bytes: number,
): LabGround | { readonly missing: readonly string[] } {
  const missing: string[] = [];
  if (process.platform !== 'linux') return { missing: [`this is ${process.platform}; a lab needs Linux`] };
  if (process.getuid?.() !== 0) missing.push('root: control groups and network namespaces are made by root; use sudo');
  const { found, missing: absent } = findControllers(files);
  missing.push(...absent);
  for (const [program, ...options] of [
    ['ip', 'netns', 'list'],
    ['tc', '-V'],
    ['dd', '--version'],
  ] as const) {
    try {
      run(program, ...options);
    } catch (error) {
      missing.push(`the program ${program}: ${(error as Error).message}`);
    }
  }
  const disk = wholeDisk(files, folder);
  if (disk === undefined)
    missing.push(
      `a disk that can be throttled: ${folder} lies on none of its own (tmpfs, overlay); use another --models`,
    );
  const { bavail, bsize } = statfsSync(folder);
  if (bavail * bsize < bytes)
    missing.push(`room in ${folder}: ${plainBytes(bavail * bsize)} are free, ${plainBytes(bytes)} are needed`);
  const { memory, cpu, disk: throttle } = found;
  if (missing.length > 0 || disk === undefined || !memory || !cpu || !throttle) return { missing };
  return { controllers: { memory, cpu, disk: throttle }, disk };
}

/** The disk of a folder: throttles take whole disks, not their partitions. */
function wholeDisk(files: LabFiles, folder: string): string | undefined {
  const { dev } = statSync(folder);
  const [major, minor] = [(dev >> 8) & 0xfff, (dev & 0xff) | ((dev >> 12) & 0xfff00)];
  const link = `/sys/dev/block/${major}:${minor}`;
  if (!files.exists(link)) return undefined;
  if (!files.exists(`${link}/partition`)) return `${major}:${minor}`;
  const parent = basename(dirname(realpathSync(link)));
  return files.read(`/sys/class/block/${parent}/dev`).trim();
}

function plainBytes(bytes: number): string {
  return formatBytes(bytes);
}
