import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryPath } from '../../engine/files/temporary-file.ts';
import type { Sweep, WorkTimes } from './sweep.ts';

/** The progress of a sweep as its submitter last wrote it. */
export interface SweepStatus {
  readonly kind: string;
  readonly id: string;
  readonly points: number;
  /** Points whose results are in the file. */
  readonly done: number;
  /** Points per second since the submitter started. */
  readonly rate: number;
  /** Share of the workers' time that went into points, where they tell. */
  readonly inPoints?: number | undefined;
  /** Milliseconds since 1970. */
  readonly written: number;
}

export const STATUS_FILE = 'sweep-status.json';

/** Milliseconds between two writes. */
const EVERY = 1000;

/** Writes OUT/sweep-status.json now and then, so that others can watch (hearth sweep-status). */
export function statusWriter(
  folder: string,
  sweep: Sweep,
  before: number,
): (done: number, times?: WorkTimes | undefined) => void {
  const start = Date.now();
  let last = 0;
  let [busy, spent] = [0, 0];
  return (done, times = { busy: 0, spent: 0 }) => {
    busy += times.busy;
    spent += times.spent;
    const now = Date.now();
    if (now - last < EVERY && done < sweep.count) return;
    last = now;
    const rate = (1000 * (done - before)) / Math.max(1, now - start);
    const inPoints = spent > 0 ? busy / spent : undefined;
    const { kind, id, count: points } = sweep;
    const status: SweepStatus = { kind, id, points, done, rate, inPoints, written: now };
    const path = join(folder, STATUS_FILE);
    const beside = temporaryPath(path);
    writeFileSync(beside, `${JSON.stringify(status)}\n`);
    renameSync(beside, path);
  };
}

/** `undefined` where no sweep has written its status. */
export function readStatus(folder: string): SweepStatus | undefined {
  try {
    return JSON.parse(readFileSync(join(folder, STATUS_FILE), 'utf8'));
  } catch {
    return undefined;
  }
}
