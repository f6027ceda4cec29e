import { hostname } from 'node:os';
import { Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import type { Sweep } from '../sweep.ts';
import { createThreads, type Threads } from '../threads.ts';
import { codeVersion } from '../version.ts';
import { PACE } from './pace.ts';
import {
  addTimes,
  bullConnection,
  connect,
  haveResults,
  type Job,
  KEYS,
  loadSweep,
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
}

/** Times that jobs may lose their worker; then they are taken for what kills it. */
const MOST_LOST = 20;

/**
 * Takes jobs from a Redis and stores their results there, until it is told to end (SIGINT, SIGTERM). Points are computed
 * on threads, so that the jobs stay the worker's however long a point takes.
 */
export async function runSweepWorker({ url, threads, lostSeconds, idleSeconds }: SweepWorkerOptions): Promise<void> {
  const redis = await connect(url);
  const name = workerName();
  const pools = createPools(redis, threads);
  const clock = createClock(threads);
  let points = 0;
  const work = async ({ data }: { readonly data: Job }): Promise<void> => {
    clock.begin();
    const { sweep, compute } = await pools.of(data.sweep, data.hangSeconds);
    const { busy, computed } = await computeJob(redis, sweep, data, compute);
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
  worker.on('error', () => {});
  worker.on('failed', (_, error) => process.stderr.write(`${error.message}\n`));
  let idle = Date.now();
  worker.on('active', () => {
    idle = Number.POSITIVE_INFINITY;
  });
  worker.on('drained', () => {
    clock.pause();
    idle = Math.min(idle, Date.now());
  });
  const report = (): Promise<void> =>
    reportWorker(redis, { name, host: hostname(), pid: process.pid, threads, version: codeVersion(), points });
  await report();
  await warnOfOtherVersions(redis);
  process.stderr.write(`${name}: ${threads} threads, version ${codeVersion()}\n`);
  const beat = setInterval(() => void report().catch(() => {}), 1000 * PACE.reportSeconds);
  await new Promise<void>((resolve) => {
    process.once('SIGINT', resolve).once('SIGTERM', resolve);
    const watch = setInterval(() => {
      if (idleSeconds !== undefined && Date.now() - idle > 1000 * idleSeconds) resolve();
    }, 200);
    watch.unref();
  });
  clearInterval(beat);
  await worker.close();
  await pools.close();
  await redis.multi().del(KEYS.worker(name)).srem(KEYS.workers, name).exec();
  redis.disconnect();
}

/** Computes the blocks of a job, unless they have results already. */
async function computeJob(
  redis: Redis,
  sweep: Sweep,
  { first, count: blocks }: Job,
  compute: Threads['compute'],
): Promise<{ readonly busy: number; readonly computed: number }> {
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

async function warnOfOtherVersions(redis: Redis): Promise<void> {
  for (const id of await redis.smembers(KEYS.sweeps)) {
    const text = await redis.get(KEYS.sweep(id));
    const version: unknown = text === null ? undefined : JSON.parse(text).version;
    if (typeof version === 'string' && version !== codeVersion())
      process.stderr.write(
        `sweep ${id} is of version ${version} of code and data, this is ${codeVersion()}: not taken\n`,
      );
  }
}
