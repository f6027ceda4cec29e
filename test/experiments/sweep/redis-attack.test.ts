import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { deflateRawSync } from 'node:zlib';
import type { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { connect } from '../../../experiments/sweep/redis/connection.ts';
import { type Job, KEYS, openQueue, storeSweep } from '../../../experiments/sweep/redis/store.ts';
import { createSweep, type Sweep } from '../../../experiments/sweep/sweep.ts';
import { testIf } from '../../support/needs.ts';
import { HAS_REDIS, type RedisServer, startRedis } from '../../support/redis-server.ts';
import { hearthHere, runHere } from '../../support/run-script.ts';

/** Harm that somebody who reaches the Redis of sweeps can't do to workers, submitters and those who look at the status. */
const REASON = 'redis-server is not installed';
const directory = mkdtempSync(join(tmpdir(), 'hearth-redis-attack-'));
const children: ChildProcess[] = [];
let server: RedisServer;
let redis: Redis;
let queue: Queue<Job>;

test.before(async () => {
  if (!HAS_REDIS) return;
  mkdirSync(join(directory, 'redis'));
  server = await startRedis(join(directory, 'redis'));
  redis = await connect(server.url);
  queue = openQueue(redis);
});
test.after(async () => {
  for (const child of children) child.kill('SIGKILL');
  await queue?.close();
  redis?.disconnect();
  await server?.stop();
  rmSync(directory, { recursive: true, force: true });
});

interface Worker {
  readonly child: ChildProcess;
  /** Its output so far. */
  text(): string;
}

function startWorker(): Worker {
  const options = ['bin/hearth.js', 'sweep-worker', '--on', server.url, '--threads', '1', '--lost-after', '1'];
  const child = spawn(process.execPath, options, { stdio: ['ignore', 'ignore', 'pipe'] });
  children.push(child);
  let text = '';
  child.stderr?.on('data', (chunk) => {
    text += chunk;
  });
  return { child, text: () => text };
}

async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const limit = Date.now() + 60_000;
  while (!(await holds())) {
    assert.ok(Date.now() < limit, `after a minute: ${what}`);
    await pause(50);
  }
}

/** A sweep's record that its id fits, whatever is in it. */
async function storedSweep(kind: string, setting: unknown, count: number): Promise<string> {
  const sweep = { ...createSweep('sweep-capacity', setting, count), kind } as Sweep;
  await storeSweep(redis, sweep);
  return sweep.id;
}

const SWEEP = ['experiments/upgrades.ts', '--homes', '40', '--workers', '1'] as const;

testIf(HAS_REDIS, REASON, 'no job ends a worker, and it says in one line why it takes none of them', async () => {
  const worker = startWorker();
  const ending = createSweep('rounds', { x: 1, ['__proto__']: { polluted: 1 } }, 10);
  await storeSweep(redis, ending);
  const small = await storedSweep('sweep-capacity', { seconds: 0, run: 'small' }, 3);
  await redis.set(KEYS.sweep('f'.repeat(32)), 'not json');
  await redis.set(KEYS.sweep('e'.repeat(32)), 'x'.repeat(2 ** 24 + 1));
  const jobs: readonly unknown[] = [
    { sweep: small, first: 0, count: 1e9, hangSeconds: 600 },
    { sweep: small, first: 2, count: 2, hangSeconds: 600 },
    { sweep: small, first: -5, count: 3, hangSeconds: 600 },
    { sweep: small, first: 'x', count: '1; process.exit()', hangSeconds: 'NaN' },
    { sweep: small, first: 0, count: 1, hangSeconds: 0 },
    { sweep: '\u001b[2J', first: 0, count: 1, hangSeconds: 1 },
    { sweep: '__proto__', first: 0, count: 1, hangSeconds: 1 },
    { sweep: '../../../etc/passwd', first: 0, count: 1, hangSeconds: 1 },
    { sweep: 'a'.repeat(32), first: 0, count: 1, hangSeconds: 1 },
    { sweep: 'f'.repeat(32), first: 0, count: 1, hangSeconds: 1 },
    { sweep: 'e'.repeat(32), first: 0, count: 1, hangSeconds: 1 },
    { sweep: await storedSweep('constructor', 'x', 1), first: 0, count: 1, hangSeconds: 1 },
    { sweep: await storedSweep('__proto__', 'y', 2), first: 0, count: 1, hangSeconds: 1 },
    { sweep: ending.id, first: 0, count: 1, hangSeconds: 5 },
    undefined,
  ];
  for (const data of jobs) await queue.add('blocks', data as Job, { attempts: 1 });
  await until('the jobs have failed', async () => (await queue.getFailedCount()) === jobs.length);
  assert.is(worker.child.exitCode, null, worker.text());
  const lines = worker.text().trimEnd().split('\n');
  assert.ok(lines.length <= 1 + jobs.length, worker.text());
  // biome-ignore lint/suspicious/noControlCharactersInRegex: none may reach the terminal.
  assert.not.match(worker.text(), /[\u0000-\u0009\u000b-\u001f]/);
  const { code, stderr } = await runHere(...SWEEP, '--on', server.url, '--out', join(directory, 'after'));
  assert.is(code, 0, stderr);
  assert.is(worker.child.exitCode, null);
});

/** The record of the sweep that SWEEP submitted. */
async function submitted(): Promise<Sweep> {
  for (const id of await redis.smembers(KEYS.sweeps)) {
    const { kind, count, block } = JSON.parse((await redis.get(KEYS.sweep(id))) ?? '{}');
    if (kind === 'upgrades' && count === 400) return { kind, count, block, id, setting: '' };
  }
  throw new Error('the sweep is not there');
}

testIf(
  HAS_REDIS,
  REASON,
  'results that no worker stored are refused in one line, and none is printed as it is',
  async () => {
    const { id, block } = await submitted();
    assert.is(block, 250);
    const key = KEYS.results(id);
    const packed = (lines: readonly string[]): Buffer => deflateRawSync(lines.join('\n'));
    const filled = (line: string): Buffer => packed(Array<string>(250).fill(line));
    for (const [bytes, expected] of [
      [packed(['1', '2']), 'has 2 lines in place of 250'],
      [packed(Array<string>(5000).fill('1')), 'has 5000 lines in place of 250'],
      [Buffer.from([1, 2, 3, 255]), 'isn’t a packed text of at most 67108864 bytes'],
      [deflateRawSync(Buffer.alloc(2 ** 27, 'a')), 'isn’t a packed text of at most 67108864 bytes'],
      [filled('{{{'), 'the result of point 0 is not JSON'],
      [filled(`"=cmd|'/c calc'!A1<script>alert(1)</script>"`), 'the result of point 0 is none of upgrades'],
      [filled('-1'), 'the result of point 0 is none of upgrades (must be at least 0, not -1)'],
      [filled('1e999'), 'the result of point 0 is none of upgrades'],
      [filled('{"point":"\\u001b[31mX","error":"\\u001b[2J"}'), 'the result of point 0 is none of upgrades'],
    ] as const) {
      await redis.del(key);
      await redis.hset(key, '0', bytes);
      const { code, stderr } = await runHere(...SWEEP, '--on', server.url, '--out', join(directory, 'hostile'));
      assert.is(code, 2, `${expected}: ${stderr}`);
      assert.ok(stderr.includes(`${key} block 0: ${expected}`), stderr);
      assert.ok(stderr.includes(`delete ${key} in Redis`), stderr);
    }
    await redis.del(key);
    await redis.set(key, 'a string');
    const { code, stderr } = await runHere(...SWEEP, '--on', server.url, '--out', join(directory, 'hostile'));
    assert.is(code, 2);
    assert.match(stderr, /^--on: the Redis at \S+ has keys hearth:\* that another program wrote/);
    await redis.del(key);
  },
);

testIf(HAS_REDIS, REASON, 'the status leaves out records that Hearth does not write', async () => {
  const evil = '\u001b[2J\u001b[31mEVIL\u0007';
  await redis.sadd(KEYS.sweeps, evil, 'UNKNOWN', '0'.repeat(32));
  await redis.set(KEYS.sweep(evil), JSON.stringify({ version: '\u001b[41mV' }));
  await redis.set(KEYS.sweep('UNKNOWN'), 'not json');
  await redis.set(KEYS.sweep('0'.repeat(32)), JSON.stringify({ version: '\u001b[41mV' }));
  await redis.sadd(KEYS.workers, 'WORKER1', 'WORKER2', 'WORKER3');
  const worker = { name: 'WORKER1', host: 'h', pid: 1, threads: 1, version: 'v', points: 0 };
  await redis.set(KEYS.worker('WORKER1'), JSON.stringify({ ...worker, name: `${evil}\nfake line` }));
  await redis.set(KEYS.worker('WORKER2'), 'not json');
  await redis.set(KEYS.worker('WORKER3'), JSON.stringify({ ...worker, points: -1 }));
  for (const options of [[], ['--json']]) {
    const { code, stdout } = await hearthHere('sweep-status', '--on', server.url, ...options);
    assert.is(code, 0);
    assert.not.match(stdout, /EVIL|fake|WORKER|UNKNOWN/);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: none may reach the terminal.
    assert.not.match(stdout, /[\u0000-\u0009\u000b-\u001f]/);
  }
});

testIf(HAS_REDIS, REASON, 'a job that loses its worker is given to one other, and no more', async () => {
  for (const child of children) child.kill('SIGKILL');
  await queue.obliterate({ force: true });
  const sweep = createSweep('sweep-capacity', { seconds: 1000, run: 'killer' }, 1);
  await storeSweep(redis, sweep);
  await queue.add(
    'blocks',
    { sweep: sweep.id, first: 0, count: 1, hangSeconds: 600 },
    { jobId: 'killer', attempts: 1 },
  );
  for (let lost = 0; lost < 2; lost++) {
    const { child } = startWorker();
    await until('a worker has the job', async () => (await queue.getActiveCount()) === 1 && (await hasLock()));
    child.kill('SIGKILL');
    await new Promise((resolve) => child.once('close', resolve));
    await until('its lock has ended', async () => !(await hasLock()));
  }
  const third = startWorker();
  await until('the job is set aside', async () => (await queue.getFailedCount()) === 1);
  assert.is(third.child.exitCode, null);
  assert.is(await hasLock(), false);
});

async function hasLock(): Promise<boolean> {
  return (await redis.exists(`bull:${queue.name}:killer:lock`)) === 1;
}

test.run();
