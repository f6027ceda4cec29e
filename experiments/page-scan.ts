import { mkdirSync, rmSync, statfsSync, statSync } from 'node:fs';
import { freemem, release, totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import { makeOutputFolder } from '../commands/output-file.ts';
import { temporaryPath } from '../engine/files/temporary-file.ts';
import { formatBytes, formatPercent, formatSeconds } from '../engine/input/format.ts';
import { InputError } from '../engine/input/input-error.ts';
import { parseQuantity } from '../engine/input/quantity.ts';
import { readKernel } from '../engine/profile/kernel-facts.ts';
import { THIS_HOST } from '../engine/profile/memory/host.ts';
import { readMemory } from '../engine/profile/memory/read-memory.ts';
import { readList, readNumber } from '../engine/terminal/options.ts';
import { readBySeconds } from './page-scan/read-share.ts';
import {
  EXTENTS,
  mapsFiles,
  openScanFile,
  type PageScan,
  ROW_BYTES,
  USES,
  type Use,
  writeScanFile,
} from './page-scan/scan-file.ts';
import { type Column, terminalTable } from './report/columns.ts';
import { runExperiment } from './report/experiment.ts';
import { count, option } from './report/options.ts';

/** Findings from a file of one size, scanned again and again. */
interface ScannedSize {
  /** Size of the file, as a share of the memory. */
  readonly share: number;
  readonly bytes: number;
  /** How `read` was judged; `none`: all uses took about as long. */
  readonly judgedBy: 'mincore' | 'seconds' | 'none';
  readonly scans: readonly {
    readonly seconds: number;
    /** Share of the file that came from the disk. */
    readonly read: number | null;
    readonly extentSeconds: readonly number[];
  }[];
}

await runExperiment({
  name: 'page-scan',
  description:
    'What this operating system keeps of a file that is scanned again and again, by its size relative to memory. Needs no root, and runs on Linux, Android, macOS and Windows; page-scan.json is for datasets/measured.',
  options: {
    by: option(
      '--by <way>',
      `${USES.join(', ')}: page faults of a mapped file, or reads (default: fault, where the native kernels are built)`,
      readUse,
    ),
    shares: option('--shares <list>', 'sizes of the file, as shares of the memory', readShares, {
      default: '0.5,0.9,1.1,1.4',
    }),
    memory: option(
      '--memory <size>',
      'memory of which sizes are shares (default: what the system says is available)',
      (flag, size) => parseQuantity(size, 'size', flag),
    ),
    scans: count('--scans <n>', 'scans of each size', { default: 4, least: 2, most: 20 }),
  },
  json: 'page-scan.json',
  seed: { help: 'of the bytes of the file' },
  async run({ by = mapsFiles() ? 'fault' : 'read', shares, memory, scans, seed, out }, { progress }) {
    const system = systemFacts();
    const room = memory ?? system.available;
    const sizes = shares.map((share) => ({ share, bytes: wholeExtents(share * room) }));
    const largest = Math.max(...sizes.map(({ bytes }) => bytes));
    makeOutputFolder('--out', dirname(out));
    mkdirSync(dirname(out), { recursive: true });
    checkRoom(dirname(out), largest);
    const file = temporaryPath(join(dirname(out), 'hearth-page-scan'));
    const bar = progress(1 + sizes.length * scans);
    try {
      bar.step(`writing ${formatBytes(largest)}`);
      writeScanFile(file, largest, seed);
      const kernel = readKernel(THIS_HOST, statSync(file).dev);
      const scanned = openScanFile(file, by);
      let measured: MeasuredSize[];
      try {
        measured = sizes.map((size) => {
          scanned.drop(largest);
          const found = Array.from({ length: scans }, () => {
            bar.step(`${formatPercent(size.share)} of memory`);
            return scanned.scan(size.bytes);
          });
          return { ...size, found };
        });
      } finally {
        scanned.close();
      }
      const found = judged(measured);
      return {
        subtitle: `${process.platform} ${release()}, ${formatBytes(room)} of memory, ${scans} scans by ${by}`,
        findings: found.map(findingOf),
        text: [terminalTable({ columns: columnsOf(scans), rows: found })],
        data: {
          system: { ...system, ...kernel },
          settings: { by, memory: room, scans, extents: EXTENTS, seed },
          sizes: found,
        },
      };
    } finally {
      rmSync(file, { force: true });
    }
  },
});

interface MeasuredSize {
  readonly share: number;
  readonly bytes: number;
  readonly found: readonly PageScan[];
}

/** Shares that the scans of all sizes read: by mincore where it was asked, else by their times for a byte. */
function judged(measured: readonly MeasuredSize[]): ScannedSize[] {
  const times = measured.flatMap(({ bytes, found }) => found.map(({ seconds }) => seconds.map((one) => one / bytes)));
  const timed = readBySeconds(times);
  let scan = 0;
  return measured.map(({ share, bytes, found }) => {
    const counts = found.every(({ read }) => read !== undefined);
    return {
      ...{ share, bytes, judgedBy: counts ? 'mincore' : timed === undefined ? 'none' : 'seconds' },
      scans: found.map(({ seconds, read }) => ({
        seconds: seconds.reduce((sum, one) => sum + one, 0),
        read: read ?? timed?.[scan++] ?? null,
        extentSeconds: seconds.map((one) => Number(one.toPrecision(4))),
      })),
    };
  });
}

function readUse(flag: string, text: string): Use {
  const found = USES.find((one) => one === text);
  if (found === undefined) throw new InputError(flag, `"${text}" is no way to use a file; allowed: ${USES.join(', ')}`);
  return found;
}

function readShares(flag: string, text: string): number[] {
  return readList(flag, text).map((one) => readNumber(flag, one, 0.01, 10));
}

/** Facts that a page cache depends on, as the system states them. */
function systemFacts() {
  const named = { platform: process.platform, release: release(), architecture: process.arch };
  if (process.platform === 'win32')
    return { ...named, total: totalmem(), available: freemem(), rule: 'free memory of Windows' };
  const { memory, rule } = readMemory(THIS_HOST);
  return { ...named, total: memory.total, available: memory.available, rule };
}

function wholeExtents(bytes: number): number {
  return EXTENTS * ROW_BYTES * Math.max(1, Math.round(bytes / (EXTENTS * ROW_BYTES)));
}

/** @throws InputError if the disk has no room for the file */
function checkRoom(folder: string, bytes: number): void {
  const { bavail, bsize } = statfsSync(folder);
  if (bavail * bsize > 1.1 * bytes) return;
  const has = `${formatBytes(bavail * bsize)} are free`;
  throw new InputError(
    '--shares',
    `need a file of ${formatBytes(bytes)} in ${folder}, where ${has}; give smaller ones`,
  );
}

function findingOf({ share, judgedBy, scans }: ScannedSize): string {
  const size = `A file of ${formatPercent(share)} of the memory`;
  const last = scans.at(-1)?.read ?? null;
  if (last === null)
    return `${size} is scanned in about the same time again and again: times don’t tell memory from disk.`;
  return `${size}: the last scan read ${formatPercent(last)} of it from the disk (by ${judgedBy}).`;
}

function columnsOf(scans: number): Column<ScannedSize>[] {
  return [
    { title: 'file ÷ memory', value: ({ share }) => share, text: ({ share }) => formatPercent(share), align: 'right' },
    ...Array.from(
      { length: scans },
      (_, scan): Column<ScannedSize> => ({
        title: `read by scan ${scan + 1}`,
        value: (row) => row.scans[scan]?.read ?? undefined,
        text: (row) => readText(row.scans[scan]),
        align: 'right',
      }),
    ),
  ];
}

function readText(scan: ScannedSize['scans'][number] | undefined): string {
  if (scan === undefined) return '–';
  return `${scan.read === null ? '–' : formatPercent(scan.read)} ${formatSeconds(scan.seconds)}`;
}
