import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { redisStatus } from '../../../experiments/sweep/redis/status.ts';
import { testIf } from '../../support/needs.ts';
import { HAS_REDIS, type RedisServer, startRedis } from '../../support/redis-server.ts';
import { hearthHere, runHere, runScript } from '../../support/run-script.ts';

const SCRIPT = 'experiments/partition-sweep.ts';
const SWEEP = ['--model', 'Llama-3-8B', '--step', '2', '--policies', 'none,populate', '--most-plans', '1000'];
const REASON = 'redis-server is not installed';
const FILES = ['points.jsonl', 'points.csv', 'summary.json', 'report.html'];

const directory = mkdtempSync(join(tmpdir(), 'hearth-sweep-redis-'));
const children: ChildProcess[] = [];
let redis: RedisServer | undefined;

test.before(async () => {
  if (!HAS_REDIS) return;
  mkdirSync(join(directory, 'redis'));
  redis = await startRedis(join(directory, 'redis'));
});
test.after(async () => {
  for (const child of children) child.kill('SIGKILL');
  await redis?.stop();
  rmSync(directory, { recursive: true, force: true });
});

function start(...command: string[]): ChildProcess {
  const child = spawn(process.execPath, command, { stdio: 'ignore' });
  children.push(child);
  return child;
}
const startWorker = (url: string): ChildProcess =>
  start('bin/hearth.js', 'sweep-worker', '--on', url, '--threads', '1', '--lost-after', '1');
const startSweep = (url: string, out: string): ChildProcess =>
  start('--import', 'tsx', SCRIPT, ...SWEEP, '--on', url, '--out', join(directory, out));
const textOf = (out: string, name: string): string => readFileSync(join(directory, out, name), 'utf8');

testIf(
  HAS_REDIS,
  REASON,
  'files are the same after workers, Redis and the submitter were killed, a worker stopped, and another submitter went on elsewhere',
  async () => {
    const { url, killAndRestart } = redis as RedisServer;
    const workers = [startWorker(url), startWorker(url)];
    const first = startSweep(url, 'first');
    const size = (out: string): number =>
      statSync(join(directory, out, 'points.jsonl'), { throwIfNoEntry: false })?.size ?? 0;
    const until = async (out: string, bytes: number): Promise<void> => {
      const limit = Date.now() + 60_000;
      while (size(out) < bytes && Date.now() < limit) await pause(10);
      assert.ok(size(out) >= bytes, `${out} has ${size(out)} bytes`);
    };
    await until('first', 3000);
    workers[0]?.kill('SIGKILL');
    // Alive, but computing nothing: its jobs go to others.
    workers[1]?.kill('SIGSTOP');
    startWorker(url);
    await until('first', 12_000);
    await killAndRestart();
    await until('first', 20_000);
    first.kill('SIGKILL');
    const second = startSweep(url, 'second');
    const ended = new Promise<number | null>((resolve) => second.on('close', resolve));
    startWorker(url);
    workers[1]?.kill('SIGCONT');
    assert.is(await ended, 0);
    const undisturbed = await runScript(SCRIPT, ...SWEEP, '--out', join(directory, 'local'));
    assert.is(undisturbed.code, 0, undisturbed.stderr);
    for (const name of FILES) assert.is(textOf('second', name), textOf('local', name), name);
    assert.ok(textOf('local', 'points.jsonl').startsWith(textOf('first', 'points.jsonl').slice(0, 20_000)));
  },
);

testIf(HAS_REDIS, REASON, 'the status has the sweep, the workers and the share of their time in points', async () => {
  const { url } = redis as RedisServer;
  const { sweeps, workers } = await redisStatus(url);
  assert.is(sweeps.length, 1);
  const [sweep] = sweeps;
  assert.is(sweep?.done, 1000);
  assert.ok((sweep?.inPoints ?? 0) > 0.3 && (sweep?.inPoints ?? 2) <= 1, `${sweep?.inPoints}`);
  assert.ok(workers.length >= 1);
  const { stdout, code } = await hearthHere('sweep-status', '--on', url);
  assert.is(code, 0);
  assert.match(
    stdout,
    /^partition-sweep [0-9a-f]{12}: 1000 of 1000 points \(100\.0 %\); \d+\.\d % of the workers’ time/,
  );
  assert.match(stdout, /\nworker \S+: 1 threads, \d+ points\n/);
});

testIf(HAS_REDIS, REASON, 'a point that takes too long is named, and can be computed alone', async () => {
  const { url } = redis as RedisServer;
  const sweep = ['experiments/halda-gap.ts', '--clusters', '1', '--devices', '30-40', '--hang', '0.1'] as const;
  const out = ['--out', join(directory, 'hang')];
  const { code, stderr } = await runScript(...sweep, ...out, '--on', url);
  assert.is(code, 1, stderr);
  assert.match(stderr, /point 0 has no result after 0\.1 s; run it alone with --point 0/);
});

test('an address without Redis is reported in one line with exit code 2', async () => {
  const { code, stderr } = await runHere(
    SCRIPT,
    ...SWEEP,
    '--on',
    'redis://127.0.0.1:1',
    '--out',
    join(directory, 'no'),
  );
  assert.is(code, 2);
  assert.match(stderr, /--on: no Redis at redis:\/\/127\.0\.0\.1:1 \(.*ECONNREFUSED.*\); start redis-server there/);
});

for (const [options, expected] of [
  [['--on', 'mars'], /^--on: "mars" isn’t a place for a sweep; give local, slurm or redis:\/\/HOST:PORT\n$/],
  [['--print-script'], /^--print-script: is for --on slurm; leave it out\n$/],
  [['--point', '1000'], /^--point: the last point is 999\n$/],
] as const) {
  test(`${options.join(' ')} is reported in one line with exit code 2`, async () => {
    const { code, stderr } = await runHere(SCRIPT, ...SWEEP, ...options, '--out', join(directory, 'no'));
    assert.is(code, 2);
    assert.match(stderr, expected);
  });
}

test.run();
