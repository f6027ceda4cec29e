import { createHash } from 'node:crypto';
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, hostname, totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { parseCluster } from '../engine/hardware/parse-cluster.ts';
import { keptFolder } from '../engine/kernels/kept-folder.ts';
import type { Quantization } from '../engine/model/quantization.ts';

/** Everything that a measurement of this device depends on. */
export interface MeasuredWhat {
  readonly model: string;
  readonly formats: readonly Quantization[];
  readonly threads: number;
  readonly gpu: string;
}

/** A measurement of this device that was kept. */
export interface KeptProfile {
  /** The cluster file of hearth profile. */
  readonly text: string;
  /** The day on which it was measured, as in 2026-11-27. */
  readonly day: string;
  readonly path: string;
}

/** Keys that tell one measurement from another: machine, disk of the model, formats, and Hearth's version. */
function subjectOf({ model, formats, threads, gpu }: MeasuredWhat): Readonly<Record<string, string>> {
  const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../package.json'), 'utf8')) as {
    version: string;
  };
  const processor = `${cpus()[0]?.model ?? process.arch}, ${availableParallelism()} at once`;
  return {
    machine: `${hostname()}, ${processor}, ${totalmem()} bytes of RAM`,
    disk: String(statSync(dirname(model)).dev),
    formats: [...formats].sort().join(),
    threads: String(threads),
    gpu,
    version,
  };
}

const pathOf = (folder: string, subject: object): string => {
  const name = createHash('sha256').update(JSON.stringify(subject)).digest('hex').slice(0, 16);
  return join(folder, `profile-${name}.json`);
};

/** Measurement kept earlier; `undefined` if there is none, or if it can't be read. */
export function readKeptProfile(what: MeasuredWhat): KeptProfile | undefined {
  const folder = keptFolder();
  if (folder === undefined) return undefined;
  const subject = subjectOf(what);
  const path = pathOf(folder, subject);
  try {
    const { of, day, profile } = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>;
    const text = JSON.stringify(profile);
    if (!isDeepStrictEqual(of, subject) || typeof day !== 'string' || !/^\d{4}-\d\d-\d\d$/.test(day)) return undefined;
    return parseCluster(text, path).devices.length === 1 ? { text, day, path } : undefined;
  } catch {
    return undefined;
  }
}

/** Keeps a measurement in the user's folder, as far as that can be written. @param text the file of hearth profile */
export function keepProfile(what: MeasuredWhat, text: string): void {
  const folder = keptFolder();
  if (folder === undefined) return;
  const subject = subjectOf(what);
  const path = pathOf(folder, subject);
  const unfinished = `${path}.${process.pid}.tmp`;
  const day = new Date().toISOString().slice(0, 10);
  try {
    writeFileSync(unfinished, `${JSON.stringify({ of: subject, day, profile: JSON.parse(text) }, null, 2)}\n`);
    renameSync(unfinished, path);
  } catch {
    rmSync(unfinished, { force: true });
  }
}
