import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { errorLine } from '../../../engine/input/error-line.ts';
import { InputError } from '../../../engine/input/input-error.ts';
import type { Sweep } from '../sweep.ts';
import { createThreads, type Threads } from '../threads.ts';
import { codeVersion } from '../version.ts';
import { connect, redisProblem, watchConnection } from './connection.ts';
import { PACE } from './pace.ts';
import {
  addTimes,
  bullConnection,
  haveResults,
  hostText,
  type Job,
  KEYS,
  listSweeps,
  loadSweep,
  parseJob,
  queueName,
  reportWorker,
  storeBlocks,
  workerName,
} from './store.ts';

export interface SweepWorkerOptions {
  readonly url: string;
  readonly threads: number;
  /** A worker that says nothing for so long has lost its jobs to the others. */
  readonly lostSeconds: number;
  /** Ends when there has been nothing to do for so long; never unless given. */
  readonly idleSeconds?: number;
  /** Seconds that jobs under way have to end, once the worker is told to. */
  readonly graceSeconds: number;
}

/** Times that a job may lose its worker and be given to another; one that loses that as well is taken for what kills it. */
const MOST_LOST = 1;

/** Seconds that a worker without a Redis, which can't store results, takes to end. */
const GONE_GRACE_SECONDS = 1;

/**
 * Takes jobs from a Redis and stores their results there, until it is told to end (SIGINT, SIGTERM). Points are computed
 * on threads, so that the jobs stay the worker's however long a point takes.
 */
export async function runSweepWorker(options: SweepWorkerOptions): Promise<void> {
  const { url, threads, lostSeconds, idleSeconds, graceSeconds } = options;
  const redis = await connect(url);
  const log = createLog();
  const name = workerName();
  const pools = createPools(redis, threads);
  const clock = createClock(threads);
  let points = 0;
  const report = (): Promise<void> =>
    reportWorker(redis, { name, host: hostText(), pid: process.pid, threads, version: codeVersion(), points });
  try {
    await report();
    await warnOfOtherVersions(redis, log);
  } catch (error) {
    throw redisProblem(url, error);
  }
  const work = async ({ data }: { readonly data: unknown }): Promise<void> => {
    clock.begin();
    const job = parseJob(data);
    const { sweep, compute } = await pools.of(job.sweep, job.hangSeconds);
    const { busy, computed } = await computeJob(redis, sweep, job, compute);
    points += computed;
    await addTimes(redis, sweep.id, { busy, spent: clock.end(), points: computed });
  };
  const worker = new Worker(queueName(), work, {
    connection: bullConnection(redis),
    concurrency: threads,
    lockDuration: 1000 * lostSeconds,
    stalledInterval: 1000 * lostSeconds,
    maxStalledCount: MOST_LOST,
    drainDelay: 1,
  });
  const tell = (error: Error): void => {
    const problem = redisProblem(url, error);
    // Losing the connection is told by the watch, and losing a job's lock harms nothing.
    if (problem instanceof InputError && !/is gone/.test(problem.message)) log(problem.message);
  };
  worker.on('error', tell);
  worker.on('failed', (_, error) => log(error.message));
  const watch = watchConnection(redis, (gone) =>
    log(gone ? 'Redis is gone; this worker waits until it is back, Ctrl-C ends it' : 'Redis is back'),
  );
  let idle = Date.now();
  worker.on('active', () => {
    idle = Number.POSITIVE_INFINITY;
  });
  worker.on('drained', () => {
    clock.pause();
    idle = Math.min(idle, Date.now());
  });
  log(`${name}: ${threads} threads, version ${codeVersion()}`);
  const beat = setInterval(() => void report().catch(tell), 1000 * PACE.reportSeconds);
  await new Promise<void>((resolve) => {
    process.once('SIGINT', resolve).once('SIGTERM', resolve);
    const timer = setInterval(() => {
      if (idleSeconds !== undefined && Date.now() - idle > 1000 * idleSeconds) resolve();
    }, 200);
    timer.unref();
  });
  clearInterval(beat);
  const end = async (): Promise<void> => {
    await worker.close();
    await pools.close();
    // A report that stays ends by itself.
    await redis.multi().del(KEYS.worker(name)).srem(KEYS.workers, name).exec().catch(tell);
    redis.disconnect();
  };
  const grace = async (): Promise<void> => {
    for (let waited = 0; waited < (watch.gone ? GONE_GRACE_SECONDS : graceSeconds); waited += 0.1) await pause(100);
    // Jobs under way go to others, and a Redis that is gone leaves commands waiting for ever.
    process.exit();
  };
  void grace();
  await end();
  watch.stop();
  process.exit();
}

/** Prints lines, but none twice in a row: the same error may come many times. */
function createLog(): (message: string) => void {
  let last = '';
  return (message) => {
    const line = errorLine(message);
    if (line !== last) process.stderr.write(`${line}\n`);
    last = line;
  };
}

/** Computes the blocks of a job, unless they have results already. @throws InputError if the sweep has no such blocks */
async function computeJob(
  redis: Redis,
  sweep: Sweep,
  { first, count: blocks }: Job,
  compute: Threads['compute'],
): Promise<{ readonly busy: number; readonly computed: number }> {
  const last = Math.ceil(sweep.count / sweep.block) - 1;
  if (first + blocks - 1 > last)
    throw new InputError('a job in Redis', `is of block ${first + blocks - 1}; the last of its sweep is ${last}`);
  if (await haveResults(redis, sweep.id, first, blocks)) return { busy: 0, computed: 0 };
  const { lines, seconds } = await compute(first * sweep.block, Math.min(sweep.count, (first + blocks) * sweep.block));
  await storeBlocks(redis, sweep, first, lines);
  return { busy: seconds, computed: lines.length };
}

/** Sweeps whose threads are kept: a worker may go to and fro between several. */
const POOLS = 2;

interface Pool {
  readonly sweep: Sweep;
  readonly compute: Threads['compute'];
  readonly close: () => Promise<void>;
}

function createPools(redis: Redis, threads: number) {
  const pools = new Map<string, Promise<Pool>>();
  const open = async (id: string, hangSeconds: number): Promise<Pool> => {
    const sweep = await loadSweep(redis, id);
    return { sweep, ...createThreads(sweep, { threads, hangSeconds }) };
  };
  return {
    of(id: string, hangSeconds: number): Promise<Pool> {
      const found = pools.get(id) ?? open(id, hangSeconds);
      pools.delete(id);
      pools.set(id, found);
      found.catch(() => pools.delete(id));
      const [oldest] = pools.keys();
      if (pools.size > POOLS && oldest !== undefined) {
        void pools.get(oldest)?.then(({ close }) => close());
        pools.delete(oldest);
      }
      return found;
    },
    async close() {
      for (const pool of await Promise.allSettled(pools.values()))
        if (pool.status === 'fulfilled') await pool.value.close();
    },
  };
}

/** Seconds of all threads while there are jobs, told with every job that ends. */
function createClock(threads: number) {
  let since: number | undefined;
  return {
    begin() {
      since ??= performance.now();
    },
    end(): number {
      const now = performance.now();
      const spent = (threads * (now - (since ?? now))) / 1000;
      since = now;
      return spent;
    },
    pause() {
      since = undefined;
    },
  };
}

async function warnOfOtherVersions(redis: Redis, log: (message: string) => void): Promise<void> {
  for (const { id, version } of await listSweeps(redis))
    if (version !== codeVersion())
      log(`sweep ${id} is of version ${version} of code and data, this is ${codeVersion()}: not taken`);
}
