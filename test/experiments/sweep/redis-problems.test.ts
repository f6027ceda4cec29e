import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer, connect as dial, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { parseRedisAddress } from '../../../experiments/sweep/redis/address.ts';
import { testIf } from '../../support/needs.ts';
import { HAS_REDIS, type RedisServer, startRedis } from '../../support/redis-server.ts';
import { hearthHere, runHere } from '../../support/run-script.ts';

const REASON = 'redis-server is not installed';
const directory = mkdtempSync(join(tmpdir(), 'hearth-redis-problems-'));
const children: ChildProcess[] = [];
const servers: Server[] = [];
const redises: RedisServer[] = [];
test.after(async () => {
  for (const child of children) child.kill('SIGKILL');
  for (const server of servers) server.close();
  for (const redis of redises) await redis.stop();
  rmSync(directory, { recursive: true, force: true });
});

let folders = 0;
async function redisWith(...options: readonly string[]): Promise<RedisServer> {
  const folder = join(directory, `redis-${++folders}`);
  mkdirSync(folder);
  const redis = await startRedis(folder, ...options);
  redises.push(redis);
  return redis;
}

/** A server on loopback that does this with each connection; its URL. */
async function serverWith(serve: (socket: Socket) => void): Promise<string> {
  const server = createServer((socket) => serve(socket.on('error', () => {}))).listen(0, '127.0.0.1');
  servers.push(server);
  await new Promise((resolve) => server.once('listening', resolve));
  return `redis://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const SWEEP = ['experiments/upgrades.ts', '--homes', '40', '--out', join(directory, 'out')] as const;

/** Submitting and asking for the status both end with code 2 and one line. */
async function assertOneLine(url: string, expected: RegExp): Promise<void> {
  for (const run of [() => runHere(...SWEEP, '--on', url), () => hearthHere('sweep-status', '--on', url)]) {
    const { code, stderr } = await run();
    assert.is(code, 2, stderr);
    assert.match(stderr, /^--on: [^\n]+\n$/);
    assert.match(stderr, expected);
    assert.not.match(stderr, /please report|secret/);
  }
}

test('the address of a Redis is read whole, or refused with how to write a password', () => {
  const address = { host: 'h', port: 7, username: undefined, password: undefined, database: 0, tls: false };
  assert.equal(parseRedisAddress('--on', 'redis://h:7'), address);
  assert.equal(parseRedisAddress('--on', 'rediss://h:7/3'), { ...address, tls: true, database: 3 });
  assert.equal(parseRedisAddress('--on', 'redis://u:a%23%2f%25@[::1]'), {
    ...{ host: '::1', port: 6379, username: 'u', password: 'a#/%', database: 0, tls: false },
  });
  for (const url of [
    ...['redis://', 'redis://:s#cret@h:1', 'redis://h:1#x', 'redis://h:1?x=1', 'redis://:a/b@h:1', 'redis://:a%zz@h'],
    ...['redis://a b', 'redis://h:99999', 'redis://h:1/x', 'redis://h:1/2/3'],
  ])
    assert.throws(
      () => parseRedisAddress('--on', url),
      /^--on: the URL of the Redis has .*; give redis:\/\/HOST:PORT or .* %23 %2F %3F %40 %25$/,
    );
});

testIf(HAS_REDIS, REASON, 'a missing or wrong password is one line', async () => {
  const { url } = await redisWith('--requirepass', 'secret#1');
  await assertOneLine(url, /wants a password; give redis:\/\/:PASSWORD@HOST:PORT/);
  await assertOneLine(url.replace('//', '//:wrong@'), /refuses this user or password/);
  await assertOneLine(url.replace('//', '//:secret#1@'), /the URL of the Redis has/);
  const { code } = await hearthHere('sweep-status', '--on', url.replace('//', '//:secret%231@'));
  assert.is(code, 0);
});

test('another program in place of a Redis is one line, whether it answers or not', async () => {
  const web = await serverWith((socket) => socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')));
  await assertOneLine(web, /answers as no Redis does; name the port of one/);
  await assertOneLine(await serverWith(() => {}), /no Redis at \S+ \(nothing answers\); start redis-server there/);
});

testIf(HAS_REDIS, REASON, 'an older version is one line', async () => {
  const { port } = new URL((await redisWith()).url);
  const old = await serverWith((socket) => {
    const real = dial(Number(port), '127.0.0.1').on('error', () => {});
    socket.pipe(real);
    real.on('data', (data) => {
      const text = data.toString('latin1');
      const version = /redis_version:(\S+)/.exec(text)?.[1] ?? '';
      const older = '4.0.15'.padEnd(version.length, '0').slice(0, version.length);
      socket.write(Buffer.from(text.replace(`redis_version:${version}`, `redis_version:${older}`), 'latin1'));
    });
    socket.on('close', () => real.destroy());
  });
  await assertOneLine(old, /is of version 4\.0\.15?\d*; 5\.0 or newer is needed/);
});

testIf(HAS_REDIS, REASON, 'a full Redis is one line', async () => {
  const { url } = await redisWith('--maxmemory', '1mb');
  const { code, stderr } = await runHere(...SWEEP, '--on', url);
  assert.is(code, 2, stderr);
  assert.match(stderr, /^--on: the Redis at \S+ is full; raise its maxmemory[^\n]*\n$/m);
});

testIf(
  HAS_REDIS,
  REASON,
  'a Redis that vanishes ends the submitter with code 2; a worker says so, and ends on the first signal',
  async () => {
    const redis = await redisWith();
    const printed = (...command: string[]) => {
      const child = spawn(process.execPath, command, { stdio: ['ignore', 'ignore', 'pipe'] });
      children.push(child);
      const state = { child, text: '', ended: new Promise<number | null>((resolve) => child.once('close', resolve)) };
      child.stderr?.on('data', (chunk) => {
        state.text += chunk;
      });
      return state;
    };
    const until = async (what: string, holds: () => boolean): Promise<void> => {
      const limit = Date.now() + 60_000;
      for (; !holds(); await pause(50)) assert.ok(Date.now() < limit, what);
    };
    const worker = printed('bin/hearth.js', 'sweep-worker', '--on', redis.url, '--threads', '1');
    await until('the worker is there', () => /1 threads/.test(worker.text));
    const sweep = [
      'experiments/upgrades.ts',
      '--homes',
      '1000000',
      '--on',
      redis.url,
      '--out',
      join(directory, 'gone'),
    ];
    const submitter = printed('--import', 'tsx', ...sweep);
    const working = async (): Promise<boolean> =>
      /"done": [1-9]/.test((await hearthHere('sweep-status', '--json', '--on', redis.url)).stdout);
    for (const limit = Date.now() + 60_000; !(await working()); ) assert.ok(Date.now() < limit, submitter.text);
    await redis.stop();
    redises.splice(redises.indexOf(redis), 1);
    assert.is(await submitter.ended, 2, submitter.text);
    assert.match(
      submitter.text,
      /\n?--on: the Redis at \S+ is gone; start it again, then the same command goes on from there\n/,
    );
    await until('the worker says so', () => /Redis is gone; this worker waits until it is back/.test(worker.text));
    const told = Date.now();
    worker.child.kill('SIGTERM');
    assert.is(await worker.ended, 0);
    assert.ok(Date.now() - told < 15_000);
    assert.not.match(worker.text + submitter.text, /please report/);
  },
);

test.run();
