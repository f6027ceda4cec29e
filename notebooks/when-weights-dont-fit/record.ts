import { parseKernelScans, type RecordedScan } from '../../datasets/lab/kernel-scan.ts';
import csv from '../../datasets/measured/kernel-scan.csv?raw';
import type { Scan } from './scan.ts';

/** Scans as Linux 6.18 carried them out. */
export const RECORDED: readonly RecordedScan[] = parseKernelScans(csv, 'datasets/measured/kernel-scan.csv');

/** The recorded scan whose memory held a share of the file that is closest to the given one. */
export function nearestRecord(share: number): RecordedScan {
  return RECORDED.reduce((nearest, one) =>
    Math.abs(one.room - share) < Math.abs(nearest.room - share) ? one : nearest,
  );
}

/** A recorded scan in the form of the lesson's own: an extent was read where the kernel read something meanwhile. */
export function asScan({ moments, read }: RecordedScan): Scan {
  const sizeOf = ({ resident }: RecordedScan['moments'][number]): Set<number> =>
    new Set(resident.flatMap(({ from, to }) => Array.from({ length: to - from }, (_, at) => from + at)));
  return {
    read,
    moments: moments.map((moment, index) => {
      const before = moments[index - 1];
      const held = before === undefined ? new Set<number>() : sizeOf(before);
      return { ...moment, wasRead: [...sizeOf(moment)].some((extent) => !held.has(extent)) };
    }),
  };
}
