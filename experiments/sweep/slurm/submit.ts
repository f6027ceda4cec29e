import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Executor, SweepError } from '../sweep.ts';
import { sbatch, tasksUnderWay } from './jobs.ts';
import { type SlurmParts, shardCount, shardFolder, shardRange, slurmScript } from './script.ts';
import { DESCRIPTION, failureFile, readDescription, readTimes, shardFile, writeWhole } from './shard.ts';

/** Milliseconds between two looks for files, and between two questions to Slurm. */
const LOOK = 500;
const ASK = 5000;
/** Times that a shard is submitted. */
const MOST_SUBMITTED = 3;

/** Computes points by an array job of Slurm over a shared folder: a result file per shard. */
export function slurmExecutor(parts: SlurmParts): Executor {
  return {
    async *results(sweep, done) {
      const folder = shardFolder(parts.folder, sweep);
      mkdirSync(folder, { recursive: true });
      // A sweep that goes on keeps its shards.
      if (!existsSync(join(folder, DESCRIPTION))) {
        const shards = shardCount(sweep.count, parts.shards);
        writeWhole(join(folder, DESCRIPTION), `${JSON.stringify({ ...sweep, shards })}\n`);
      }
      const { shards } = readDescription(folder);
      const script = join(folder, 'submit.sh');
      writeWhole(script, slurmScript({ ...parts, sweep, shards }));
      const rangeOf = (shard: number) => shardRange(sweep.count, shards, shard);
      const wanted = Array.from({ length: shards }, (_, shard) => shard).filter((shard) => rangeOf(shard)[1] > done);
      const jobs = createJobs(folder, script, wanted);
      for (const shard of wanted) {
        await jobs.until(shard);
        const lines = readFileSync(shardFile(folder, shard), 'utf8').split('\n').slice(0, -1);
        const [from] = rangeOf(shard);
        const begin = Math.max(from, done);
        yield { from: begin, lines: lines.slice(begin - from), times: readTimes(folder, shard) };
      }
    },
  };
}

/** Submits the wanted shards that have no file and are not under way, and again those whose tasks end without one. */
function createJobs(folder: string, script: string, wanted: readonly number[]) {
  const record = join(folder, 'jobs.json');
  const jobs: string[] = existsSync(record) ? JSON.parse(readFileSync(record, 'utf8')) : [];
  const submitted = new Map<number, number>();
  let asked = 0;
  // Shards that failed before are tried again.
  for (const shard of wanted) rmSync(failureFile(folder, shard), { force: true });
  const missing = (): number[] => wanted.filter((shard) => !existsSync(shardFile(folder, shard)));
  const submit = async (): Promise<void> => {
    const underWay = await tasksUnderWay(jobs);
    // Files are looked for after the question: a task that ends in between has written its file.
    const lost = missing().filter((shard) => !underWay.has(shard));
    const given = lost.filter((shard) => submitted.get(shard) === MOST_SUBMITTED);
    if (given.length > 0)
      throw new SweepError(
        `shards ${given.join(', ')} ended without results ${MOST_SUBMITTED} times; see ${folder}/*.log`,
      );
    if (lost.length === 0) return;
    jobs.push(await sbatch(script, lost, join(folder, '%A-%a.log')));
    writeWhole(record, JSON.stringify(jobs));
    for (const shard of lost) submitted.set(shard, (submitted.get(shard) ?? 0) + 1);
  };
  return {
    /** Waits for the file of a shard. @throws SweepError naming a point that takes too long, in any shard */
    async until(shard: number): Promise<void> {
      while (!existsSync(shardFile(folder, shard))) {
        const failed = wanted.map((one) => failureFile(folder, one)).find(existsSync);
        if (failed !== undefined) throw new SweepError(readFileSync(failed, 'utf8'));
        if (Date.now() - asked > ASK) {
          await submit();
          asked = Date.now();
        }
        await pause(LOOK);
      }
    },
  };
}
