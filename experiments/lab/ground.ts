import { realpathSync, statfsSync, statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { formatBytes } from '../../engine/input/format.ts';
import { type Controllers, findControllers } from './cgroups/controllers.ts';
import type { LabFiles, RunProgram } from './system.ts';

/** Parts of a machine that a lab uses. */
export interface LabGround {
  readonly controllers: Controllers;
  /** `major:minor` of the whole disk that holds the models. */
  readonly disk: string;
}

/** Programs that a lab runs, each with options under which it changes nothing. */
const PROGRAMS = [
  ['ip', 'netns', 'list'],
  ['tc', '-V'],
  ['dd', '--version'],
] as const;

/**
 * Checks whether a lab can be set up on this machine.
 * @param folder where models and their parts are kept
 * @param bytes that will be written there
 * @returns the ground, or a message for everything that is missing
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
  for (const [program, ...options] of PROGRAMS) {
    try {
      run(program, ...options);
    } catch (error) {
      missing.push(`the program ${program}: ${(error as Error).message}`);
    }
  }
  const disk = wholeDisk(files, folder);
  if (disk === undefined)
    missing.push(
      `a disk that can be throttled: ${folder} is not on a disk of its own (tmpfs, overlay); use another --models`,
    );
  const { bavail, bsize } = statfsSync(folder);
  if (bavail * bsize < bytes)
    missing.push(`space in ${folder}: ${formatBytes(bavail * bsize)} are free, ${formatBytes(bytes)} are needed`);
  const { memory, cpu, disk: throttle } = found;
  if (missing.length > 0 || disk === undefined || !memory || !cpu || !throttle) return { missing };
  return { controllers: { memory, cpu, disk: throttle }, disk };
}

/** The disk of a folder: throttles take whole disks, not partitions. */
function wholeDisk(files: LabFiles, folder: string): string | undefined {
  const { dev } = statSync(folder);
  const [major, minor] = [(dev >> 8) & 0xfff, (dev & 0xff) | ((dev >> 12) & 0xfff00)];
  const link = `/sys/dev/block/${major}:${minor}`;
  if (!files.exists(link)) return undefined;
  if (!files.exists(`${link}/partition`)) return `${major}:${minor}`;
  const parent = basename(dirname(realpathSync(link)));
  return files.read(`/sys/class/block/${parent}/dev`).trim();
}
