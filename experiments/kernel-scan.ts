import { closeSync, fsyncSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeOutputFolder } from '../commands/output-file.ts';
import { SCAN_COLUMNS, SCAN_EXTENTS } from '../datasets/lab/kernel-scan.ts';
import { temporaryPath } from '../engine/files/temporary-file.ts';
import { formatBytes, formatPercent } from '../engine/input/format.ts';
import { InputError } from '../engine/input/input-error.ts';
import { openKernels } from '../engine/kernels/open-kernels.ts';
import { readKernel } from '../engine/profile/kernel-facts.ts';
import { THIS_HOST } from '../engine/profile/memory/host.ts';
import { pagesOf } from '../engine/runtime/weights/mapped-weights.ts';
import { readList, readNumber } from '../engine/terminal/options.ts';
import { type CountedScan, kernelScan, SCAN_WAYS } from './kernel-scan/scan.ts';
import { findControllers } from './lab/cgroups/controllers.ts';
import { REAL_FILES } from './lab/system.ts';
import { type Column, terminalTable } from './report/columns.ts';
import { toCsv } from './report/csv.ts';
import { runExperiment } from './report/experiment.ts';
import { choice, count, option } from './report/options.ts';

await runExperiment({
  name: 'kernel-scan',
  description:
    'What Linux keeps of a mapped file that is scanned again and again with too little memory, page by page (mincore).',
  options: {
    tokens: count('--tokens <n>', 'scans of the file', { default: 4, most: 100 }),
    by: choice('--by <way>', 'how a range is used', SCAN_WAYS, 'populate'),
    limits: option(
      '--limits <list>',
      'memory for the file, as shares of it; the process frees a few per cent of its own, so that somewhat more fits',
      (flag, list) => readList(flag, list).map((one) => readNumber(flag, one, 0.05, 2)),
      { default: '0.2,0.45,0.7,0.85,0.92,1.05' },
    ),
    extent: count('--extent <MiB>', 'size of one of the 96 extents of the file', { default: 8, most: 64 }),
  },
  json: 'kernel-scan.json',
  files: ['kernel-scan.csv'],
  async run({ tokens, limits, extent, by, out }, { progress }) {
    const { memory } = findControllers(REAL_FILES).found;
    if (memory === undefined || process.getuid?.() !== 0)
      throw new InputError('kernel-scan', 'needs Linux, root, and a control group for memory');
    const controllers = { memory, disk: memory, cpu: memory };
    const extentBytes = extent * 2 ** 20;
    makeOutputFolder('--out', dirname(out));
    const file = temporaryPath(join(dirname(out), 'hearth-scan'));
    const kernels = openKernels({ implementation: 'native', threads: 1 });
    const bar = progress(limits.length);
    const scans: CountedScan[] = [];
    let readAhead: number | undefined;
    try {
      writeFile(file, extentBytes);
      readAhead = readKernel(THIS_HOST, statSync(file).dev).readAhead;
      const pages = pagesOf(kernels, kernels.mapFile(file));
      for (const limit of limits) {
        bar.step(formatPercent(limit));
        scans.push(await kernelScan({ controllers, file, extentBytes, pages, by }, limit, tokens));
      }
      pages.close();
    } finally {
      kernels.close();
      rmSync(file, { force: true });
    }
    return {
      subtitle: `${SCAN_EXTENTS} extents of ${extent} MiB, ${tokens} scans by ${by}, read-ahead of ${formatBytes(readAhead ?? 0)}`,
      findings: [`Linux reads ${scans.map(readText).join('; ')}.`],
      text: [terminalTable({ columns: columnsOf(tokens), rows: scans })],
      data: {
        settings: { tokens, limits, extent, by, readAhead },
        scans: scans.map(({ limit, room, read, bytes }) => ({ limit, room, read, bytes })),
      },
      files: { 'kernel-scan.csv': toCsv(SCAN_COLUMNS, scans.flatMap(rowsOf)) },
    };
  },
});

function writeFile(path: string, extentBytes: number): void {
  const file = openSync(path, 'wx', 0o600);
  try {
    for (let extent = 0; extent < SCAN_EXTENTS; extent++) writeSync(file, new Uint8Array(extentBytes).fill(1 + extent));
    // Pages that are not yet on the disk can't be dropped before the first scan.
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function readText({ room, read }: CountedScan): string {
  return `${formatPercent(read.at(-1) ?? 0)} of the file for every scan where it held at most ${formatPercent(room)}`;
}

function columnsOf(tokens: number): Column<CountedScan>[] {
  return [
    { title: 'limit', value: ({ limit }) => limit, text: ({ limit }) => formatPercent(limit), align: 'right' },
    { title: 'held at most', value: ({ room }) => room, text: ({ room }) => formatPercent(room), align: 'right' },
    ...Array.from(
      { length: tokens },
      (_, token): Column<CountedScan> => ({
        title: `scan ${token + 1}`,
        value: ({ read }) => read[token],
        text: ({ read }) => formatPercent(read[token] ?? 0),
        align: 'right',
      }),
    ),
  ];
}

function rowsOf({ limit, moments }: CountedScan): (string | number)[][] {
  return moments.map(({ token, extent, resident }) => [
    limit,
    token,
    extent,
    resident.map(({ from, to }) => `${from}-${to}`).join(' '),
  ]);
}
