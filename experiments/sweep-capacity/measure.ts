import { appendFileSync, closeSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Queue, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { randomStream } from '../../engine/input/random-stream.ts';
import { connect } from '../sweep/redis/connection.ts';
import * as store from '../sweep/redis/store.ts';
import { loadReadResult } from '../sweep/sweep.ts';
import type { BlocksCost, CallCost, Cost, ServiceTimes } from './service-times.ts';

/** Calls of an operation. */
const CALLS = 2000;
/** So many times fewer are the calls with many blocks or workers. */
const LARGER = 20;
/** Blocks of a large call, points of a large block, workers that are there in a large look. */
const BLOCKS = 64;
const POINTS = 250;
const WORKERS = 500;

/** Jobs that are queued at once. */
const BULK = 8;

/** Steps of the progress of measureServiceTimes. */
export const MEASURE_STEPS = 14;

/**
 * Cost of a sweep's operations at a Redis that does nothing else: by its own count of its command thread's
 * processor time (INFO cpu, Redis 6.2 or later), and by this process's. Leaves nothing there.
 */
export async function measureServiceTimes(url: string, step: () => void, calls = CALLS): Promise<ServiceTimes> {
  const largeCalls = Math.ceil(calls / LARGER);
  const redis = await connect(url);
  const id = `capacity-${process.pid}`;
  const folder = mkdtempSync(join(tmpdir(), 'hearth-sweep-capacity-'));
  const file = openSync(join(folder, 'points'), 'a');
  const queue = new Queue(`hearth-${id}`, { connection: store.bullConnection(redis) });
  const time = async (count: number, operation: () => Promise<unknown>): Promise<Cost> => {
    const before = await spent(redis);
    await operation();
    const after = await spent(redis);
    step();
    return { redis: (after.redis - before.redis) / count, client: (after.client - before.client) / count };
  };
  const repeated = (count: number, operation: () => Promise<unknown>): Promise<Cost> =>
    time(count, async () => {
      for (let call = 0; call < count; call++) await operation();
    });
  const stream = randomStream(1, 'sweep-capacity');
  const readResult = await loadReadResult({ kind: 'upgrades' });
  const storing = async (blocks: number, points: number): Promise<{ readonly stored: Cost; readonly read: Cost }> => {
    const lines = Array.from({ length: blocks * points }, () => String(stream.next()));
    const count = blocks === 1 ? calls : largeCalls;
    const stored = await repeated(count, () => store.storeBlocks(redis, { id, block: points }, 0, lines));
    const read = await repeated(count, async () => {
      const sweep = { id, block: points, count: blocks * points };
      const found = await store.readBlocks(redis, sweep, readResult, { first: 0, count: blocks });
      appendFileSync(file, found.map((block) => block.map((line) => `${line}\n`).join('')).join(''));
    });
    return { stored, read };
  };
  const looking = (count: number): Promise<Cost> =>
    repeated(count, async () => {
      await store.liveWorkers(redis);
      await queue.getWaitingCount();
      await store.readTimes(redis, id);
    });
  try {
    // Once unmeasured: the compiler settles.
    await storing(1, 1);
    const [small, blocks, large] = [await storing(1, 1), await storing(BLOCKS, 1), await storing(BLOCKS, POINTS)];
    const checkOne = await repeated(calls, () => store.haveResults(redis, id, 0, 1));
    const checkMany = await repeated(largeCalls, () => store.haveResults(redis, id, 0, BLOCKS));
    const times = await repeated(calls, () => store.addTimes(redis, id, { busy: 1, spent: 1, points: 1 }));
    const report = await repeated(calls, () => store.reportWorker(redis, reportOf(id, 0)));
    const add = await time(calls, async () => {
      for (let first = 0; first < calls; first += BULK)
        await queue.addBulk(Array.from({ length: Math.min(BULK, calls - first) }, (_, at) => jobOf(id, first + at)));
    });
    const take = await time(calls, () => takeAll(redis, queue.name, calls));
    const lookOne = await looking(calls);
    for (let worker = 1; worker < WORKERS; worker++) await store.reportWorker(redis, reportOf(id, worker));
    const lookMany = await looking(largeCalls);
    return {
      add,
      take,
      check: callCost(checkOne, checkMany, BLOCKS),
      store: blocksCost(small.stored, blocks.stored, large.stored),
      times,
      report,
      look: callCost(lookOne, lookMany, WORKERS),
      read: blocksCost(small.read, blocks.read, large.read),
    };
  } finally {
    closeSync(file);
    rmSync(folder, { recursive: true });
    const names = Array.from({ length: WORKERS }, (_, worker) => reportOf(id, worker).name);
    await redis.srem(store.KEYS.workers, ...names);
    await redis.del(store.KEYS.results(id), store.KEYS.times(id), ...names.map(store.KEYS.worker));
    await queue.obliterate({ force: true });
    await queue.close();
    redis.disconnect();
  }
}

/** Processor seconds of Redis's command thread and of this process so far. */
async function spent(redis: Redis): Promise<Cost> {
  const info = await redis.info('cpu');
  const seconds = ['used_cpu_user_main_thread', 'used_cpu_sys_main_thread'].map((name) =>
    Number(new RegExp(`^${name}:(.*)\\r?$`, 'm').exec(info)?.[1]),
  );
  const { user, system } = process.cpuUsage();
  return { redis: (seconds[0] as number) + (seconds[1] as number), client: (user + system) / 1e6 };
}

/** A worker that takes and ends as many jobs as are queued, one at a time. */
async function takeAll(redis: Redis, name: string, jobs: number): Promise<void> {
  let left = jobs;
  let end = (): void => {};
  const all = new Promise<void>((resolve) => {
    end = resolve;
  });
  const worker = new Worker(name, async () => {}, { connection: store.bullConnection(redis), concurrency: 1 });
  worker.on('completed', () => {
    left -= 1;
    if (left === 0) end();
  });
  await all;
  await worker.close();
}

function jobOf(sweep: string, first: number) {
  const data: store.Job = { sweep, first, count: 1, hangSeconds: 600 };
  return { name: 'blocks', data, opts: { jobId: `${sweep}-${first}-1`, removeOnComplete: true, attempts: 1 } };
}

/** A worker of another version of the code, whose jobs no submitter counts on. */
function reportOf(id: string, worker: number): store.WorkerReport {
  return { name: `${id}-${worker}`, host: 'here', pid: process.pid, threads: 1, version: id, points: 0 };
}

function combined(costs: readonly Cost[], of: (values: readonly number[]) => number): Cost {
  return { redis: of(costs.map(({ redis }) => redis)), client: of(costs.map(({ client }) => client)) };
}

/** A fixed cost and one for each part, from calls with one and with many parts; differences below 0 are noise. */
function callCost(one: Cost, many: Cost, parts: number): CallCost {
  const each = combined([one, many], ([low = 0, high = 0]) => Math.max(0, (high - low) / (parts - 1)));
  return { call: combined([one, each], ([total = 0, part = 0]) => Math.max(0, total - part)), each };
}

/** From calls with one block of one point, with many blocks of one point, and with many blocks of many points. */
function blocksCost(one: Cost, blocks: Cost, points: Cost): BlocksCost {
  const { call, each } = callCost(one, blocks, BLOCKS);
  const point = combined([blocks, points], ([low = 0, high = 0]) =>
    Math.max(0, (high - low) / (BLOCKS * (POINTS - 1))),
  );
  return { call, block: combined([each, point], ([total = 0, part = 0]) => Math.max(0, total - part)), point };
}

export async function redisVersion(url: string): Promise<string> {
  const redis = await connect(url);
  const version = /^redis_version:(\S+)/m.exec(await redis.info('server'))?.[1] ?? 'of an unknown version';
  redis.disconnect();
  return version;
}
