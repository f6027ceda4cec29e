import { join, resolve } from 'node:path';
import type { Sweep } from '../sweep.ts';

export interface SlurmParts {
  /** The folder of the results, which all nodes share. */
  readonly folder: string;
  readonly shards: number;
  readonly hangSeconds: number;
}

/** The folder of a sweep's shards: its description, its script and a result file per shard. */
export function shardFolder(folder: string, { id }: Sweep): string {
  return resolve(folder, `shards-${id.slice(0, 12)}`);
}

/** Points of a shard: shards are equally large, but for the last ones. */
export function shardRange(count: number, shards: number, shard: number): readonly [from: number, to: number] {
  const size = Math.ceil(count / shards);
  return [Math.min(count, shard * size), Math.min(count, (shard + 1) * size)];
}

/** Shards that have points, at most as many as asked for. */
export function shardCount(count: number, asked: number): number {
  return Math.ceil(count / Math.ceil(count / asked));
}

/** A word of a shell command, quoted. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

const ROOT = join(import.meta.dirname, '../../..');

/**
 * The batch script of an array job, one task per shard. Partition, account, time limit and memory come from sbatch's own
 * environment variables (SBATCH_PARTITION, SBATCH_TIMELIMIT, …).
 */
export function slurmScript({ folder, sweep, shards, hangSeconds }: SlurmParts & { readonly sweep: Sweep }): string {
  const own = shardFolder(folder, sweep);
  const command = `${quoted(process.execPath)} bin/hearth.js sweep-shard --folder ${quoted(own)} --hang ${hangSeconds}`;
  return `#!/bin/bash
#SBATCH --job-name=hearth-${sweep.kind}
#SBATCH --array=0-${shardCount(sweep.count, shards) - 1}
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --requeue
set -euo pipefail
cd ${quoted(ROOT)}
exec ${command} --shard "$SLURM_ARRAY_TASK_ID"
`;
}
