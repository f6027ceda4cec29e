import { hostname } from 'node:os';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { type ConnectionOptions, Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { complaintLine, readValue } from '../../../engine/input/complaint.ts';
import { InputError } from '../../../engine/input/input-error.ts';
import { parseSweep, type ReadResult, type Sweep, type WorkTimes } from '../sweep.ts';
import { codeVersion } from '../version.ts';

/** Names of what a sweep keeps in Redis. Results lie under the sweep's hash, by block. */
export const KEYS = {
  sweeps: 'hearth:sweeps',
  sweep: (id: string) => `hearth:sweep:${id}`,
  results: (id: string) => `hearth:sweep:${id}:results`,
  /** Sums over all workers: seconds spent on points, seconds of their threads meanwhile, points. */
  times: (id: string) => `hearth:sweep:${id}:times`,
  workers: 'hearth:workers',
  worker: (name: string) => `hearth:worker:${name}`,
} as const;

/** Blocks in a job, at most: whoever reaches the Redis can write one. */
export const MOST_BLOCKS = 4096;

const ID = z.string().regex(/^[0-9a-f]{32}$/);

const JOB = z.strictObject({
  sweep: ID,
  first: z.int().nonnegative(),
  count: z.int().min(1).max(MOST_BLOCKS),
  hangSeconds: z.number().min(0.1).max(1e6),
});

/** Blocks first … first + count − 1 of a sweep: what a worker takes from the queue. */
export type Job = Readonly<z.infer<typeof JOB>>;

/** A job as it is in Redis. @throws InputError for anything else */
export function parseJob(data: unknown): Job {
  return checked(JOB, data, 'job');
}

/** @throws InputError naming what was found */
function checked<Value>(schema: z.ZodType<Value>, data: unknown, what: string): Value {
  const read = readValue(schema, data);
  if ('value' in read) return read.value;
  throw new InputError(`a ${what} in Redis`, `is none of Hearth’s: ${complaintLine(read.complaint)}`);
}

/** Workers only see jobs of their own version of code and data. */
export function queueName(): string {
  return `hearth-sweep-${codeVersion()}`;
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

/** Bytes of a block's lines, at most; results of the largest experiments take some hundred kilobytes. */
const MOST_BLOCK_BYTES = 2 ** 26;

/** @throws InputError for what storeBlocks doesn't write */
function unpackLines(packed: Buffer, place: string): string[] {
  try {
    return inflateRawSync(packed, { maxOutputLength: MOST_BLOCK_BYTES }).toString().split('\n');
  } catch (error) {
    throw blockProblem(place, `isn’t a packed text of at most ${MOST_BLOCK_BYTES} bytes (${(error as Error).message})`);
  }
}

/** An error in the results that Redis has for a block. */
function blockProblem(place: string, found: string): InputError {
  const [key] = place.split(' ');
  return new InputError(
    place,
    `${found}; another program wrote it: delete ${key} in Redis, and the same command computes it again`,
  );
}

/**
 * The lines of blocks from `first` on, at most `count` of them, up to the first without results.
 * @throws InputError for a block that has no results of as many points as it should
 */
export async function readBlocks(
  redis: Redis,
  { id, block, count: points }: Pick<Sweep, 'id' | 'block' | 'count'>,
  read: ReadResult,
  { first, count }: Pick<Job, 'first' | 'count'>,
): Promise<string[][]> {
  const found: string[][] = [];
  for (const packed of await redis.hmgetBuffer(KEYS.results(id), ...fieldsOf(first, count))) {
    if (packed === null) break;
    const number = first + found.length;
    const place = `${KEYS.results(id)} block ${number}`;
    const lines = unpackLines(packed, place);
    const expected = Math.min(block, points - number * block);
    if (lines.length !== expected) throw blockProblem(place, `has ${lines.length} lines in place of ${expected}`);
    try {
      for (const [index, line] of lines.entries()) read(line, number * block + index);
    } catch (error) {
      throw error instanceof RangeError ? blockProblem(place, error.message) : error;
    }
    found.push(lines);
  }
  return found;
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

/** Bytes of a sweep's record, at most; those of the largest experiments take some hundred kilobytes. */
const MOST_RECORD_BYTES = 2 ** 24;

/** @throws InputError if it is gone, too long, of another version, or not the sweep of this id */
export async function loadSweep(redis: Redis, id: string): Promise<Sweep> {
  const place = `sweep ${id} in Redis`;
  const bytes = await redis.strlen(KEYS.sweep(id));
  if (bytes === 0) throw new InputError(place, 'is gone; submit it again');
  if (bytes > MOST_RECORD_BYTES)
    throw new InputError(place, `has ${bytes} bytes; a sweep has at most ${MOST_RECORD_BYTES}`);
  const sweep = parseSweep((await redis.get(KEYS.sweep(id))) ?? '', place);
  if (sweep.id !== id) throw new InputError(place, `is sweep ${sweep.id}`);
  return sweep;
}

/** A sweep that a Redis lists. */
export interface ListedSweep {
  readonly id: string;
  /** Version of the code that submitted it. */
  readonly version: string;
}

const VERSION = z.string().regex(/^[\w-]{1,64}$/);

/** The sweeps that are there; what is listed and is none is left out. */
export async function listSweeps(redis: Redis): Promise<ListedSweep[]> {
  const found: ListedSweep[] = [];
  for (const id of await redis.smembers(KEYS.sweeps)) {
    if (!ID.safeParse(id).success || (await redis.strlen(KEYS.sweep(id))) > MOST_RECORD_BYTES) continue;
    const text = await redis.get(KEYS.sweep(id));
    if (text === null) {
      await redis.srem(KEYS.sweeps, id);
      continue;
    }
    const record = z.looseObject({ version: VERSION }).safeParse(parseJson(text));
    if (record.success) found.push({ id, version: record.data.version });
  }
  return found;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Host and process in a worker's name: printed, so in characters that a terminal shows. */
const NAME = z.string().regex(/^[\w.-]{1,300}$/);

const WORKER = z.strictObject({
  name: NAME,
  host: NAME,
  pid: z.int().positive(),
  threads: z.int().min(1).max(256),
  version: VERSION,
  points: z.int().nonnegative(),
});

/** A worker as it reports itself. */
export type WorkerReport = Readonly<z.infer<typeof WORKER>>;

/** Seconds after which a worker that no longer reports itself is gone. */
const GONE_SECONDS = 10;

/** This machine's name in the characters of a NAME. */
export function hostText(): string {
  return (
    hostname()
      .replaceAll(/[^\w.-]/g, '-')
      .slice(0, 200) || 'host'
  );
}

export function workerName(): string {
  return `${hostText()}-${process.pid}-${Date.now().toString(36)}`;
}

/** Says that a worker is there, and for GONE_SECONDS from now. */
export async function reportWorker(redis: Redis, report: WorkerReport): Promise<void> {
  await redis.set(KEYS.worker(report.name), JSON.stringify(report), 'EX', GONE_SECONDS);
  await redis.sadd(KEYS.workers, report.name);
}

/** The workers that are there; reports that no worker writes are left out. */
export async function liveWorkers(redis: Redis): Promise<WorkerReport[]> {
  const names = await redis.smembers(KEYS.workers);
  if (names.length === 0) return [];
  const texts = await redis.mget(names.map(KEYS.worker));
  const gone = names.filter((_, index) => texts[index] === null);
  if (gone.length > 0) await redis.srem(KEYS.workers, ...gone);
  return texts.flatMap((text) => {
    const report = WORKER.safeParse(text === null || text === undefined ? undefined : parseJson(text));
    return report.success ? [report.data] : [];
  });
}

/** Time that the workers have spent on a sweep so far. */
export interface Times extends WorkTimes {
  /** Seconds of the threads from their first job to their last. */
  readonly spent: number;
  readonly points: number;
}

export async function readTimes(redis: Redis, id: string): Promise<Times> {
  const { busy, spent, points } = await redis.hgetall(KEYS.times(id));
  const number = (text = '0'): number => (Number.isFinite(Number(text)) ? Math.max(0, Number(text)) : 0);
  return { busy: number(busy), spent: number(spent), points: number(points) };
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
