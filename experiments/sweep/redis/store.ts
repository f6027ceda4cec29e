import { hostname } from 'node:os';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { type ConnectionOptions, Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { InputError } from '../../../engine/input/input-error.ts';
import { parseSweep, type Sweep, type WorkTimes } from '../sweep.ts';
import { codeVersion } from '../version.ts';

/** Names of what a sweep keeps in Redis. Results lie under the sweep's hash, by block. */
export const KEYS = {
  sweeps: 'hearth:sweeps',
  sweep: (id: string) => `hearth:sweep:${id}`,
  results: (id: string) => `hearth:sweep:${id}:results`,
  /** Of all workers: seconds spent on points, seconds of their threads meanwhile, points. */
  times: (id: string) => `hearth:sweep:${id}:times`,
  workers: 'hearth:workers',
  worker: (name: string) => `hearth:worker:${name}`,
} as const;

/** Blocks first … first + count − 1 of a sweep: what a worker takes from the queue. */
export interface Job {
  readonly sweep: string;
  readonly first: number;
  readonly count: number;
  readonly hangSeconds: number;
}

/** Workers only see jobs of their own version of code and data. */
export function queueName(): string {
  return `hearth-sweep-${codeVersion()}`;
}

/** Seconds after which an address where nothing answers is reported. */
const ANSWER_SECONDS = 5;

/**
 * A connection, which comes back by itself if Redis is started again; commands wait meanwhile.
 * @throws InputError if nobody answers at first
 */
export async function connect(url: string): Promise<Redis> {
  const redis = new Redis(url, { lazyConnect: true, maxRetriesPerRequest: null, retryStrategy: () => 200 });
  let reason = 'nothing answers';
  redis.on('error', (error: Error) => {
    reason = error.message || reason;
  });
  const tooLong = new Promise<false>((resolve) => setTimeout(resolve, 1000 * ANSWER_SECONDS, false).unref());
  const answered = await Promise.race([redis.ping().then(() => true as const), tooLong]);
  if (answered) return redis;
  redis.disconnect();
  const shown = new URL(url);
  shown.password = '';
  throw new InputError(
    '--on',
    `no Redis at ${shown.href} (${reason}); start redis-server there, with --appendonly yes`,
  );
}

/** BullMQ makes connections of its own from one. */
export function bullConnection(redis: Redis): ConnectionOptions {
  return redis as unknown as ConnectionOptions;
}

export function openQueue(redis: Redis): Queue<Job> {
  const queue = new Queue<Job>(queueName(), { connection: bullConnection(redis) });
  queue.on('error', () => {});
  return queue;
}

/** The lines of a block, as stored. */
function packLines(lines: readonly string[]): Buffer {
  return deflateRawSync(lines.join('\n'));
}

function unpackLines(packed: Buffer): string[] {
  return inflateRawSync(packed).toString().split('\n');
}

/** Of blocks first … first + count − 1: their lines, `undefined` where there are no results yet. */
export async function readBlocks(
  redis: Redis,
  id: string,
  first: number,
  count: number,
): Promise<(string[] | undefined)[]> {
  const packed = await redis.hmgetBuffer(KEYS.results(id), ...fieldsOf(first, count));
  return packed.map((one) => (one === null ? undefined : unpackLines(one)));
}

/** Whether blocks first … first + count − 1 all have results. */
export async function haveResults(redis: Redis, id: string, first: number, count: number): Promise<boolean> {
  return (await redis.hmget(KEYS.results(id), ...fieldsOf(first, count))).every((one) => one !== null);
}

/** Stores the lines of consecutive blocks of `block` points. */
export async function storeBlocks(
  redis: Redis,
  { id, block }: Pick<Sweep, 'id' | 'block'>,
  first: number,
  lines: readonly string[],
): Promise<void> {
  const fields = fieldsOf(first, Math.ceil(lines.length / block));
  const packed = fields.flatMap((field, index) => [field, packLines(lines.slice(index * block, (index + 1) * block))]);
  await redis.hset(KEYS.results(id), ...packed);
}

function fieldsOf(first: number, count: number): string[] {
  return Array.from({ length: count }, (_, index) => String(first + index));
}

export async function storeSweep(redis: Redis, sweep: Sweep): Promise<void> {
  await redis.set(KEYS.sweep(sweep.id), JSON.stringify({ ...sweep, version: codeVersion() }));
  await redis.sadd(KEYS.sweeps, sweep.id);
}

/** @throws InputError if it is gone, or of another version */
export async function loadSweep(redis: Redis, id: string): Promise<Sweep> {
  return parseSweep((await redis.get(KEYS.sweep(id))) ?? '', `sweep ${id}`);
}

/** A worker as it reports itself. */
export interface WorkerReport {
  readonly name: string;
  readonly host: string;
  readonly pid: number;
  readonly threads: number;
  readonly version: string;
  readonly points: number;
}

/** Seconds after which a worker that no longer reports itself is gone. */
const GONE_SECONDS = 10;

export function workerName(): string {
  return `${hostname()}-${process.pid}-${Date.now().toString(36)}`;
}

/** Says that a worker is there, and for GONE_SECONDS from now. */
export async function reportWorker(redis: Redis, report: WorkerReport): Promise<void> {
  await redis.set(KEYS.worker(report.name), JSON.stringify(report), 'EX', GONE_SECONDS);
  await redis.sadd(KEYS.workers, report.name);
}

/** The workers that are there. */
export async function liveWorkers(redis: Redis): Promise<WorkerReport[]> {
  const names = await redis.smembers(KEYS.workers);
  if (names.length === 0) return [];
  const texts = await redis.mget(names.map(KEYS.worker));
  const gone = names.filter((_, index) => texts[index] === null);
  if (gone.length > 0) await redis.srem(KEYS.workers, ...gone);
  return texts.flatMap((text) => (text === null ? [] : [JSON.parse(text) as WorkerReport]));
}

/** What the workers have spent on a sweep so far. */
export interface Times extends WorkTimes {
  /** Seconds of the threads from their first job to their last. */
  readonly spent: number;
  readonly points: number;
}

export async function readTimes(redis: Redis, id: string): Promise<Times> {
  const { busy = '0', spent = '0', points = '0' } = await redis.hgetall(KEYS.times(id));
  return { busy: Number(busy), spent: Number(spent), points: Number(points) };
}

/** Adds what a worker has spent on a job. */
export async function addTimes(redis: Redis, id: string, { busy, spent, points }: Times): Promise<void> {
  const key = KEYS.times(id);
  await redis
    .multi()
    .hincrbyfloat(key, 'busy', busy)
    .hincrbyfloat(key, 'spent', spent)
    .hincrby(key, 'points', points)
    .exec();
}
