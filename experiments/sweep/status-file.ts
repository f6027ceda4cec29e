import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Sweep } from './sweep.ts';

/** The progress of a sweep as its submitter last wrote it. */
export interface SweepStatus {
  readonly kind: string;
  readonly id: string;
  readonly points: number;
  /** Points whose results are in the file. */
  readonly done: number;
  /** Points per second since the submitter started. */
  readonly rate: number;
  /** Milliseconds since 1970. */
  readonly written: number;
}

export const STATUS_FILE = 'sweep-status.json';

/** Milliseconds between two writes. */
const EVERY = 1000;

/** Writes OUT/sweep-status.json now and then, so that others can watch (hearth sweep-status). */
export function statusWriter(folder: string, sweep: Sweep, before: number): (done: number) => void {
  const start = Date.now();
  let last = 0;
  return (done) => {
    const now = Date.now();
    if (now - last < EVERY && done < sweep.count) return;
    last = now;
    const rate = (1000 * (done - before)) / Math.max(1, now - start);
    const status: SweepStatus = { kind: sweep.kind, id: sweep.id, points: sweep.count, done, rate, written: now };
    const path = join(folder, STATUS_FILE);
    writeFileSync(`${path}.${process.pid}.tmp`, `${JSON.stringify(status)}\n`);
    renameSync(`${path}.${process.pid}.tmp`, path);
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
