import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { InputError } from '../input/input-error.ts';
import { parseRing, type RingFile } from '../ring/head/ring-file.ts';
import type { RunRequest } from './run-options.ts';

/** The devices of a ring: a cluster file's, or this one and the workers that were named. @throws InputError */
export function readRing({ cluster, workers, keys }: Pick<RunRequest, 'cluster' | 'workers' | 'keys'>): RingFile {
  if (cluster === undefined) return parseRing(ringText(workers), '--worker', keys === undefined);
  let text = '';
  try {
    text = readFileSync(cluster, 'utf8');
  } catch {
    throw new InputError(cluster, "can't be read; give the path of a cluster file");
  }
  return parseRing(text, cluster, keys === undefined);
}

/** Workers are called as they are reached, without what a file's name can't have: plans are split into files. */
function ringText(workers: readonly string[]): string {
  const devices = workers.map((text) => {
    const [address = '', publicKey] = text.split(',');
    return { name: address.replace(/^tcp:\/\//, ''), address, ...(publicKey === undefined ? {} : { publicKey }) };
  });
  return JSON.stringify({ devices: [{ name: hostname() }, ...devices] });
}
