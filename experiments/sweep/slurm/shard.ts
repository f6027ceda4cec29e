import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryPath } from '../../../engine/files/temporary-file.ts';
import { InputError } from '../../../engine/input/input-error.ts';
import { parseSweep, type Sweep, SweepError, type WorkTimes } from '../sweep.ts';
import { createThreads } from '../threads.ts';
import { shardRange } from './script.ts';

/** `sweep.json`: the sweep, and the number of its shards. */
export const DESCRIPTION = 'sweep.json';

export function shardFile(folder: string, shard: number): string {
  return join(folder, `shard-${shard}.jsonl`);
}

/** File of the time that computing a shard took (WorkTimes), the task's start included. */
function timesFile(folder: string, shard: number): string {
  return join(folder, `shard-${shard}.times.json`);
}

/** `undefined` for a shard whose times were not written. */
export function readTimes(folder: string, shard: number): WorkTimes | undefined {
  const path = timesFile(folder, shard);
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined;
}

/** Why a shard has no results and would have none if it were computed again: a point never ends. */
export function failureFile(folder: string, shard: number): string {
  return join(folder, `shard-${shard}.failed`);
}

/** @throws InputError if the folder has no description, or one of another version */
export function readDescription(folder: string): { readonly sweep: Sweep; readonly shards: number } {
  const path = join(folder, DESCRIPTION);
  if (!existsSync(path)) throw new InputError('--folder', `${folder} has no ${DESCRIPTION}; name a folder of shards`);
  const text = readFileSync(path, 'utf8');
  return { sweep: parseSweep(text, path), shards: Number(JSON.parse(text).shards) };
}

/**
 * Computes one shard. Its file appears when it is complete; to compute it twice does no harm.
 * @throws SweepError naming a point that takes too long, which the submitter finds in the shard's failure file
 */
export async function runShard(folder: string, shard: number, hangSeconds: number): Promise<void> {
  const { sweep, shards } = readDescription(folder);
  if (shard >= shards) throw new InputError('--shard', `${folder} has shards 0 to ${shards - 1}`);
  const path = shardFile(folder, shard);
  if (existsSync(path)) return;
  const [from, to] = shardRange(sweep.count, shards, shard);
  const threads = createThreads(sweep, { threads: 1, hangSeconds });
  try {
    const { lines, seconds } = await threads.compute(from, to);
    const times: WorkTimes = { busy: seconds, spent: process.uptime() };
    writeWhole(timesFile(folder, shard), JSON.stringify(times));
    writeWhole(path, lines.map((line) => `${line}\n`).join(''));
  } catch (error) {
    if (error instanceof SweepError) writeWhole(failureFile(folder, shard), error.message);
    throw error;
  } finally {
    await threads.close();
  }
}

/** Writes a file so that nobody sees a part of it, from several machines at once. */
export function writeWhole(path: string, text: string): void {
  const beside = temporaryPath(path);
  writeFileSync(beside, text);
  renameSync(beside, path);
}
