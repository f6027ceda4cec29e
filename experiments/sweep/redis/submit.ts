import { setTimeout as pause } from 'node:timers/promises';
import type { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { type Executor, loadReadResult, type Part, type ReadResult, type Sweep, SweepError } from '../sweep.ts';
import { codeVersion } from '../version.ts';
import { connect, giveUp, redisProblem, watchConnection } from './connection.ts';
import { PACE } from './pace.ts';
import { type Job, KEYS, liveWorkers, MOST_BLOCKS, openQueue, readBlocks, readTimes, storeSweep } from './store.ts';

/** Milliseconds without the next result after which its job is looked for. */
const MISSED = 2000;

export interface RedisOptions {
  readonly hangSeconds: number;
  /** Seconds of work in a job; PACE.jobSeconds unless given. */
  readonly jobSeconds?: number;
}

/**
 * Computes points by workers that wait at a Redis (hearth sweep-worker). Results stay there, so that any submitter of the
 * same sweep goes on where another one ended. A job that Redis has lost is queued again.
 */
export function redisExecutor(url: string, { hangSeconds, jobSeconds = PACE.jobSeconds }: RedisOptions): Executor {
  return {
    async *results(sweep, done) {
      const read = await loadReadResult(sweep);
      const redis = await connect(url);
      const watch = watchConnection(redis, () => giveUp(redis));
      const queue = openQueue(redis);
      try {
        await storeSweep(redis, sweep);
        yield* submit(new Submission({ redis, queue, sweep, read }, { hangSeconds, jobSeconds }), done);
        await Promise.all([KEYS.results, KEYS.times, KEYS.sweep].map((key) => redis.expire(key(sweep.id), KEPT)));
      } catch (error) {
        throw redisProblem(url, error);
      } finally {
        watch.stop();
        // Closing waits for a connection, which a Redis that is gone doesn't give.
        if (!watch.gone) await queue.close();
        redis.disconnect();
      }
    },
  };
}

/** Seconds for which Redis keeps the results of a sweep that has ended. */
const KEPT = 86_400;

async function* submit(submission: Submission, done: number): AsyncGenerator<Part> {
  const { sweep } = submission;
  const blocks = Math.ceil(sweep.count / sweep.block);
  await submission.begin(Math.floor(done / sweep.block));
  let next = Math.floor(done / sweep.block);
  let last = Date.now();
  let fed = 0;
  while (next < blocks) {
    const found = await submission.read(next, Math.min(PACE.blocksRead, blocks - next));
    if (found.length > 0) {
      const from = next * sweep.block;
      const lines = found.flat();
      yield from < done ? { from: done, lines: lines.slice(done - from) } : { from, lines };
      next += found.length;
      last = Date.now();
    }
    if (Date.now() - fed > 1000 * PACE.lookSeconds) {
      await submission.feed();
      fed = Date.now();
    }
    if (found.length > 0) continue;
    await pause(1000 * PACE.lookSeconds);
    if (Date.now() - last < MISSED) continue;
    await submission.recover();
    last = Date.now();
  }
}

/** A submission's sweep, and how its results are checked. */
interface SubmissionParts {
  readonly redis: Redis;
  readonly queue: Queue<Job>;
  readonly sweep: Sweep;
  readonly read: ReadResult;
}

class Submission {
  /** Blocks that had results when the submission began. */
  private readonly there = new Set<number>();
  /** The first block that is not queued. */
  private unqueued = 0;
  /** Queued jobs without known results, by first block. */
  private readonly queued = new Map<number, Job>();
  private threads = 0;
  private looked = 0;
  private warned = false;

  constructor(
    private readonly parts: SubmissionParts,
    private readonly options: Required<RedisOptions>,
  ) {}

  get sweep(): Sweep {
    return this.parts.sweep;
  }

  async begin(first: number): Promise<void> {
    const { redis, queue, sweep } = this.parts;
    this.unqueued = first;
    for (const block of await redis.hkeys(KEYS.results(sweep.id))) this.there.add(Number(block));
    // Jobs that failed before are tried again.
    const failed = await queue.getFailed();
    for (const job of failed) if (job.data.sweep === sweep.id) await job.remove();
  }

  /** The lines of blocks from `first` on, up to the first without results. */
  async read(first: number, count: number): Promise<string[][]> {
    const { redis, sweep, read } = this.parts;
    const found = await readBlocks(redis, sweep, read, { first, count });
    for (const [start, job] of this.queued) {
      if (start + job.count > first + found.length) break;
      this.queued.delete(start);
    }
    return found;
  }

  /** Queues jobs until there are enough for the workers, each of about a second. */
  async feed(): Promise<void> {
    const { redis, sweep, queue } = this.parts;
    const blocks = Math.ceil(sweep.count / sweep.block);
    if (this.unqueued >= blocks) return;
    const threads = await this.threadsOfWorkers();
    const waiting = await queue.getWaitingCount();
    const { busy, points } = await readTimes(redis, sweep.id);
    const { hangSeconds, jobSeconds } = this.options;
    const perBlock = points === 0 ? jobSeconds : (busy / points) * sweep.block;
    const wanted = Math.max(PACE.leastQueued, PACE.queuedPerThread * threads) - waiting;
    const jobs: Job[] = [];
    while (jobs.length < wanted && this.unqueued < blocks) {
      while (this.there.has(this.unqueued)) this.unqueued += 1;
      if (this.unqueued >= blocks) break;
      // Towards the end jobs are smaller, so that all workers end at nearly the same time.
      const fair = Math.ceil((blocks - this.unqueued) / (4 * Math.max(1, threads)));
      const most = Math.max(1, Math.min(Math.round(jobSeconds / perBlock), fair, MOST_BLOCKS));
      let count = 1;
      while (count < most && !this.there.has(this.unqueued + count)) count += 1;
      const job = { sweep: sweep.id, first: this.unqueued, count, hangSeconds };
      this.queued.set(job.first, job);
      jobs.push(job);
      this.unqueued += count;
    }
    await this.add(jobs);
  }

  private async add(jobs: readonly Job[]): Promise<void> {
    if (jobs.length === 0) return;
    await this.parts.queue.addBulk(
      jobs.map((data) => ({
        name: 'blocks',
        data,
        opts: { jobId: jobIdOf(data), removeOnComplete: true, attempts: 1 },
      })),
    );
  }

  /**
   * Queues jobs again that Redis has lost, with the sweep, which is stored in any case: a Redis that is full says so.
   * @throws SweepError for a job that failed
   */
  async recover(): Promise<void> {
    const { redis, queue, sweep } = this.parts;
    await storeSweep(redis, sweep);
    const lost: Job[] = [];
    for (const job of this.queued.values()) {
      const found = await queue.getJob(jobIdOf(job));
      if (found === undefined) lost.push(job);
      else if (await found.isFailed()) throw new SweepError(reasonOf(job, found.failedReason, sweep));
    }
    await this.add(lost);
  }

  /** Threads of all workers of this version. A look at many workers is long, so it is not taken with every look. */
  private async threadsOfWorkers(): Promise<number> {
    if (this.threads > 0 && Date.now() - this.looked < 1000 * PACE.reportSeconds) return this.threads;
    const workers = (await liveWorkers(this.parts.redis)).filter(({ version }) => version === codeVersion());
    this.threads = workers.reduce((sum, { threads }) => sum + threads, 0);
    this.looked = Date.now();
    if (this.threads === 0 && !this.warned) {
      this.warned = true;
      process.stderr.write(
        `no worker of version ${codeVersion()} is there yet; start some: hearth sweep-worker --on redis://…\n`,
      );
    }
    return this.threads;
  }
}

/** The same blocks have one job at a time. */
function jobIdOf({ sweep, first, count }: Job): string {
  return `${sweep}-${first}-${count}`;
}

function reasonOf({ first, count }: Job, reason: string, { block, count: points }: Sweep): string {
  if (/stalled/.test(reason)) {
    const last = Math.min(points, (first + count) * block) - 1;
    return `points ${first * block} to ${last} lost two workers; run them alone with --point`;
  }
  return reason;
}
