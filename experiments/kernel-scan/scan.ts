import { type ChildProcess, fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type RecordedScan, recordedScan, SCAN_EXTENTS, type ScanMoment } from '../../datasets/lab/kernel-scan.ts';
import { PAGE_TABLES } from '../../engine/cost/reclaim.ts';
import type { ByteRange, FilePages } from '../../engine/kernels/file-pages.ts';
import type { Controllers } from '../lab/cgroups/controllers.ts';
import { ownMemory } from '../lab/cgroups/own-memory.ts';
import { REAL_FILES } from '../lab/system.ts';

/** Parts of the machine that a scan needs. */
export interface ScanGround {
  readonly controllers: Controllers;
  /** A file of SCAN_EXTENTS extents, and its pages, seen from outside of the group. */
  readonly file: string;
  readonly extentBytes: number;
  readonly pages: FilePages;
  readonly by: ScanWay;
}

/** How a range is used: MADV_POPULATE_READ reads and maps it, or a product takes page faults, after MADV_WILLNEED or not. */
export const SCAN_WAYS = ['populate', 'fault', 'willneed'] as const;
export type ScanWay = (typeof SCAN_WAYS)[number];

/** A scan, and what its process read. */
export interface CountedScan extends RecordedScan {
  /** Bytes by token, by the process's /proc/PID/io, as a share of the file: more than one where pages are read twice. */
  readonly bytes: readonly number[];
}

/**
 * Scans a file token after token in a memory control group that has room for a share of it, and looks at the page cache
 * (mincore) after every use, from outside.
 * @param room memory for the file in addition to the process's own and its page tables, as a share of the file
 */
export async function kernelScan(ground: ScanGround, room: number, tokens: number): Promise<CountedScan> {
  const { controllers, file, extentBytes, pages, by } = ground;
  const size = SCAN_EXTENTS * extentBytes;
  pages.start('drop', { from: 0, to: size }).wait();
  const folder = join(controllers.memory.root, `hearth-kernel-scan-${process.pid}`);
  REAL_FILES.makeFolder(folder);
  try {
    const child = fork(join(import.meta.dirname, 'child.ts'), [file, by], { execArgv: ['--import', 'tsx'] });
    try {
      await messageOf(child);
      REAL_FILES.write(join(folder, 'cgroup.procs'), String(child.pid));
      const own = ownMemory(REAL_FILES, controllers, folder, [child.pid as number]);
      const limit = controllers.memory.version === 1 ? 'memory.limit_in_bytes' : 'memory.max';
      REAL_FILES.write(join(folder, limit), String(Math.round(own + size * (room + PAGE_TABLES))));
      return await scanIn(child, ground, room, tokens);
    } finally {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      if (child.connected) child.disconnect();
      await ended;
    }
  } finally {
    REAL_FILES.removeFolder(folder);
  }
}

async function scanIn(
  child: ChildProcess,
  { pages, extentBytes }: ScanGround,
  room: number,
  tokens: number,
): Promise<CountedScan> {
  const rangeOf = (extent: number): ByteRange => ({ from: extent * extentBytes, to: (extent + 1) * extentBytes });
  const shareOf = (extent: number): number => pages.resident(rangeOf(extent)) / extentBytes;
  const moments: ScanMoment[] = [];
  const counts = [readBytes(child)];
  for (let token = 0; token < tokens; token++) {
    for (let extent = 0; extent < SCAN_EXTENTS; extent++) {
      const used = messageOf(child);
      child.send(rangeOf(extent));
      await used;
      moments.push({ token, extent, resident: residentRanges(shareOf) });
    }
    counts.push(readBytes(child));
  }
  const bytes = counts
    .slice(1)
    .map((count, token) => (count - (counts[token] as number)) / (SCAN_EXTENTS * extentBytes));
  return { ...recordedScan(room, moments), bytes };
}

/** Bytes that a process has had read from disks. */
function readBytes({ pid }: ChildProcess): number {
  return Number(/^read_bytes: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1]);
}

/** Ranges of extents of which at least half is in memory. */
function residentRanges(shareOf: (extent: number) => number): { from: number; to: number }[] {
  const ranges: { from: number; to: number }[] = [];
  for (let extent = 0; extent < SCAN_EXTENTS; extent++) {
    if (shareOf(extent) < 0.5) continue;
    const last = ranges.at(-1);
    if (last?.to === extent) last.to += 1;
    else ranges.push({ from: extent, to: extent + 1 });
  }
  return ranges;
}

/** @throws Error if the process ends before it sends anything */
function messageOf(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const failed = (code: number | null): void => reject(new Error(`the scanning process ended (${code})`));
    child.once('exit', failed);
    child.once('message', (message) => {
      child.off('exit', failed);
      resolve(message);
    });
  });
}
