import { rmSync, statfsSync, statSync } from 'node:fs';
import { cpus, freemem, release, totalmem } from 'node:os';
import { join } from 'node:path';
import { makeOutputFolder, removedIfInterrupted } from '../../commands/output-file.ts';
import { temporaryPath } from '../../engine/files/temporary-file.ts';
import { formatBytes, formatPercent } from '../../engine/input/format.ts';
import { InputError } from '../../engine/input/input-error.ts';
import { readKernel } from '../../engine/profile/kernel-facts.ts';
import { THIS_HOST } from '../../engine/profile/memory/host.ts';
import { readMemory } from '../../engine/profile/memory/read-memory.ts';
import type { Progress } from '../../engine/terminal/progress.ts';
import { readBySeconds } from './read-share.ts';
import { type LeftOut, PAGE_SCAN, type PageScanRecord, type ScannedSize, type SystemFacts } from './record.ts';
import { EXTENTS, openScanFile, type PageScan, ROW_BYTES, type Use, writeScanFile } from './scan-file.ts';

/** The file to scan, and the most that this may cost. */
export interface ScanRequest {
  /** Folder of the file. */
  readonly folder: string;
  readonly by: Use;
  /** Sizes of the file, as shares of the memory, in the order in which they are scanned. */
  readonly shares: readonly number[];
  /** Bytes; `undefined`: what the system says is available. */
  readonly memory: number | undefined;
  /** Scans of each size. */
  readonly scans: number;
  /** Bytes of the largest file. */
  readonly most: number;
  /** Seconds for everything. */
  readonly seconds: number;
  readonly seed: number;
}

/** Share of the time that writing the file may take. */
const WRITING = 0.4;
/** Scans without which a size says nothing: the first brings the file into memory. */
const LEAST_SCANS = 2;
/** File systems that are memory, by statfs: tmpfs and ramfs. */
const IN_MEMORY = [0x01021994, 0x858458f6];

/**
 * Writes one file, scans its beginning again and again for each size, and removes it. What takes too long is left out.
 * @throws InputError for a folder in memory or without room, and if no size fits the limits
 */
export async function scanSizes(request: ScanRequest, progress: (total: number) => Progress): Promise<PageScanRecord> {
  const { folder, by, shares, memory, scans, most, seconds, seed } = request;
  const start = performance.now();
  const end = start + 1000 * seconds;
  const system = systemFacts();
  const room = memory ?? system.available;
  const asked = shares.map((share) => ({ share, bytes: wholeExtents(share * room) }));
  const sizes = asked.filter(({ bytes }) => bytes <= most);
  const leftOut: LeftOut[] = asked
    .filter((size) => !sizes.includes(size))
    .map(({ share, bytes }) => ({ share, reason: `${formatBytes(bytes)} exceed the limit of ${formatBytes(most)}` }));
  if (sizes.length === 0)
    throw new InputError('--most', `${leftOut[0]?.reason ?? ''}; give a larger one, or smaller --shares`);
  const largest = Math.max(...sizes.map(({ bytes }) => bytes));
  makeOutputFolder('--folder', folder);
  checkFolder(folder, largest);
  const file = temporaryPath(join(folder, 'hearth-page-scan'));
  const bar = progress(1 + sizes.length * scans);
  try {
    return await removedIfInterrupted(file, async () => {
      bar.step(`writing ${formatBytes(largest)}`);
      const written = await writeScanFile(file, largest, seed, start + WRITING * (end - start));
      const kernel = readKernel(THIS_HOST, statSync(file).dev);
      const scanned = openScanFile(file, by);
      const measured: MeasuredSize[] = [];
      try {
        for (const { share, bytes } of sizes) {
          if (bytes > written) {
            leftOut.push({ share, reason: `the disk took only ${formatBytes(written)} in the time for writing` });
            continue;
          }
          scanned.drop(written);
          const available = availableBytes();
          const found: PageScan[] = [];
          while (found.length < scans) {
            bar.step(`scan ${found.length + 1} of ${formatPercent(share)} of the memory`);
            const scan = await scanned.scan(bytes, end);
            if (scan === undefined) break;
            found.push(scan);
          }
          if (found.length >= LEAST_SCANS) measured.push({ share, bytes, available, found });
          else leftOut.push({ share, reason: `${seconds} s were over` });
        }
      } finally {
        scanned.close();
      }
      if (measured.length === 0)
        throw new InputError(
          '--seconds',
          `${seconds} are too few: ${leftOut.at(-1)?.reason ?? ''}; give more, or smaller --shares`,
        );
      return {
        format: PAGE_SCAN,
        date: new Date().toISOString().slice(0, 10),
        system: { ...system, ...kernel },
        settings: { by, memory: room, scans, extents: EXTENTS, seed, seconds },
        sizes: judged(measured),
        leftOut,
      };
    });
  } finally {
    bar.stop();
    rmSync(file, { force: true });
  }
}

interface MeasuredSize {
  readonly share: number;
  readonly bytes: number;
  readonly available: number;
  readonly found: readonly PageScan[];
}

/** Shares that the scans of all sizes read: as counted where that was possible, else by their times for a byte. */
function judged(measured: readonly MeasuredSize[]): ScannedSize[] {
  const times = measured.flatMap(({ bytes, found }) => found.map(({ seconds }) => seconds.map((one) => one / bytes)));
  const timed = readBySeconds(times);
  let scan = 0;
  return measured.map(({ share, bytes, available, found }) => {
    const counted = found[0]?.counted?.by;
    return {
      ...{ share, bytes, available, judgedBy: counted ?? (timed === undefined ? 'none' : 'seconds') },
      scans: found.map(({ seconds, counted: own }) => {
        const read = own?.read ?? timed?.[scan];
        scan++;
        return {
          seconds: seconds.reduce((sum, one) => sum + one, 0),
          ...(read !== undefined && { read }),
          extentSeconds: seconds.map((one) => Number(one.toPrecision(4))),
        };
      }),
    };
  });
}

/** Facts that a page cache depends on, as the system states them. */
function systemFacts(): SystemFacts {
  const named = {
    ...{ platform: process.platform, release: release(), architecture: process.arch },
    processor: cpus()[0]?.model ?? 'unknown',
  };
  if (process.platform === 'win32')
    return { ...named, total: totalmem(), available: freemem(), rule: 'free memory of Windows' };
  const { memory, rule } = readMemory(THIS_HOST);
  return { ...named, total: memory.total, available: memory.available, rule };
}

function availableBytes(): number {
  return process.platform === 'win32' ? freemem() : readMemory(THIS_HOST).memory.available;
}

function wholeExtents(bytes: number): number {
  return EXTENTS * ROW_BYTES * Math.max(1, Math.round(bytes / (EXTENTS * ROW_BYTES)));
}

/** @throws InputError if the folder is in memory, or its disk has no room for the file */
function checkFolder(folder: string, bytes: number): void {
  const { bavail, bsize, type } = statfsSync(folder);
  if (IN_MEMORY.includes(type))
    throw new InputError(`--folder ${folder}`, 'is in memory (tmpfs); name a folder on a disk');
  if (bavail * bsize > 1.1 * bytes) return;
  const has = `${formatBytes(bavail * bsize)} are free`;
  throw new InputError(
    '--shares',
    `need a file of ${formatBytes(bytes)} in ${folder}, where ${has}; give smaller ones`,
  );
}
