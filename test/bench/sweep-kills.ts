import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { redisStatus } from '../../experiments/sweep/redis/status.ts';
import { readStatus } from '../../experiments/sweep/status-file.ts';
import { startRedis } from '../support/redis-server.ts';

/**
 * A large sweep by eight workers at a Redis, with ten kills (SIGKILL): of seven workers, twice of Redis and of the
 * submitter; then the same sweep on threads, undisturbed. Prints whether all files are the same.
 *
 *     npx tsx test/bench/sweep-kills.ts [homes]     (100000 homes are 1,000,000 points)
 */
const HOMES = process.argv[2] ?? '100000';
const WORKERS = 8;
const KILLS = ['worker', 'worker', 'redis', 'worker', 'worker', 'submitter', 'worker', 'redis', 'worker', 'worker'];
const SWEEP = ['--import', 'tsx', 'experiments/upgrades.ts', '--homes', HOMES];

const folder = mkdtempSync(join(tmpdir(), 'hearth-sweep-kills-'));
mkdirSync(join(folder, 'redis'));
const redis = await startRedis(join(folder, 'redis'));
const start = (...command: string[]): ChildProcess => spawn(process.execPath, command, { stdio: 'ignore' });
const startWorker = (): ChildProcess =>
  start('bin/hearth.js', 'sweep-worker', '--on', redis.url, '--threads', '1', '--lost-after', '5');
const out = join(folder, 'disturbed');
const startSubmitter = (): ChildProcess => start(...SWEEP, '--on', redis.url, '--out', out);
const endOf = (child: ChildProcess): Promise<number | null> => new Promise((resolve) => child.once('close', resolve));

const workers = Array.from({ length: WORKERS }, startWorker);
let submitter = startSubmitter();
const began = performance.now();
try {
  for (const [index, kill] of KILLS.entries()) {
    const share = (index + 1) / (KILLS.length + 1);
    for (;;) {
      const status = readStatus(out);
      if (status !== undefined && status.done >= share * status.points) break;
      if (submitter.exitCode !== null) throw new Error(`the submitter ended with ${submitter.exitCode}`);
      await pause(20);
    }
    console.log(`${Math.round((performance.now() - began) / 1000)} s: kills ${kill} at ${(100 * share).toFixed(0)} %`);
    if (kill === 'worker') {
      workers.shift()?.kill('SIGKILL');
      workers.push(startWorker());
    } else if (kill === 'redis') await redis.killAndRestart();
    else {
      submitter.kill('SIGKILL');
      await endOf(submitter);
      submitter = startSubmitter();
    }
  }
  const code = submitter.exitCode ?? (await endOf(submitter));
  console.log(`${Math.round((performance.now() - began) / 1000)} s: ended with code ${code}`);
  console.log(JSON.stringify((await redisStatus(redis.url)).sweeps[0]));
} finally {
  for (const child of workers) child.kill('SIGKILL');
  await redis.stop();
}
const undisturbed = join(folder, 'undisturbed');
const local = await endOf(start(...SWEEP, '--out', undisturbed));
console.log(`undisturbed on threads: code ${local}`);
for (const name of readdirSync(undisturbed).filter((file) => file !== 'sweep-status.json')) {
  const [one, other] = [out, undisturbed].map((place) => readFileSync(join(place, name)));
  const hash = createHash('sha256')
    .update(other as Buffer)
    .digest('hex')
    .slice(0, 16);
  console.log(
    `${name}: ${one?.equals(other as Buffer) ? 'the same' : 'DIFFERENT'}, ${statSync(join(out, name)).size} bytes, SHA-256 ${hash}…`,
  );
}
rmSync(folder, { recursive: true });
