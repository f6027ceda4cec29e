import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { SensitivityPoints } from '../../../experiments/papers/sensitivity/sweep-points.ts';
import { STATUS_FILE } from '../../../experiments/sweep/status-file.ts';
import { createSweep, loadEvaluate } from '../../../experiments/sweep/sweep.ts';
import { testIf } from '../../support/needs.ts';
import { HAS_REDIS, type RedisServer, startRedis } from '../../support/redis-server.ts';
import { runHere } from '../../support/run-script.ts';
import { NO_SLURM, type Slurm, startSlurm } from '../../support/slurm.ts';

/** Every experiment that takes --on, with options for a small sweep. */
const EXPERIMENTS = {
  'partition-sweep': 'partition-sweep.ts --model Llama-3-8B --step 4 --policies none,populate --most-plans 60',
  'halda-gap': 'halda-gap.ts --clusters 4 --devices 2',
  rounds: 'rounds.ts --models Llama-3-8B --most-rounds 2 --reclaim os',
  upgrades: 'upgrades.ts --homes 60 --answer simulated',
  reproduce: 'reproduce.ts heterollm --sensitivity --shards 17',
} as const;
type Name = keyof typeof EXPERIMENTS;
const NAMES = Object.keys(EXPERIMENTS) as Name[];

/**
 * Points of `reproduce`: eight quantities of the chip with four factors each, and nothing changed. One takes 0.7 s, so all
 * but the last three are taken from a file.
 */
const REPRODUCE = { points: 33, computed: 3 } as const;

const directory = mkdtempSync(join(tmpdir(), 'hearth-sweep-executors-'));
const folder = (...parts: string[]): string => join(directory, ...parts);
let redis: RedisServer | undefined;
let slurm: Slurm | undefined;
let worker: ChildProcess | undefined;

test.before(async () => {
  if (NO_SLURM === undefined) slurm = await startSlurm(2);
  if (!HAS_REDIS) return;
  mkdirSync(folder('redis-server'));
  redis = await startRedis(folder('redis-server'));
  const options = ['bin/hearth.js', 'sweep-worker', '--on', redis.url, '--threads', '1'];
  worker = spawn(process.execPath, options, { stdio: 'ignore' });
});
test.after(async () => {
  worker?.kill('SIGKILL');
  await redis?.stop();
  await slurm?.stop();
  rmSync(directory, { recursive: true, force: true });
});

const pointsFile = (out: string): string => {
  const found = readdirSync(out).filter((name) => /^points.*\.jsonl$/.test(name));
  assert.is(found.length, 1, out);
  return found[0] as string;
};

/** Runs an experiment on a place, from points in a folder if one is given; returns the folder of its results. */
async function run(name: Name, on: string, resume?: string): Promise<string> {
  const out = folder(name, on.replace(/:.*/, ''));
  const [script, ...options] = EXPERIMENTS[name].split(' ');
  const place = ['--on', on, '--workers', '1', '--out', out];
  const from = resume === undefined ? [] : ['--resume', resume];
  const { code, stderr } = await runHere(`experiments/${script}`, '--shards', '2', ...options, ...place, ...from);
  assert.is(code, 0, stderr);
  return out;
}

/** A folder with the first lines of the points of another, the last cut short, as a sweep leaves that was killed. */
function begun(name: Name, out: string, share: number): string {
  const carried = folder(name, `begun-${share}`);
  const file = pointsFile(out);
  const lines = readFileSync(join(out, file), 'utf8').split('\n').slice(0, -1);
  const whole = lines.slice(0, Math.max(1, Math.floor(share * lines.length)));
  mkdirSync(carried);
  writeFileSync(join(carried, file), `${whole.join('\n')}\n{"plan"`);
  return carried;
}

/** All points of `reproduce` but the last few as if computed elsewhere: with the answers of the first. */
async function reproduceBegun(): Promise<string> {
  const sweep = createSweep('reproduce', { paper: 'heterollm' } satisfies SensitivityPoints, REPRODUCE.points);
  const line = JSON.stringify((await loadEvaluate(sweep))(0));
  const carried = folder('reproduce', 'begun');
  mkdirSync(carried, { recursive: true });
  const lines = Array.from({ length: REPRODUCE.points - REPRODUCE.computed }, (_, point) => `[${point},${line}]\n`);
  writeFileSync(join(carried, `points-${sweep.id.slice(0, 12)}.jsonl`), lines.join(''));
  return carried;
}

function assertSameFiles(out: string, expected: string): void {
  const names = readdirSync(expected).filter((name) => /\.(jsonl?|csv|html)$/.test(name) && name !== STATUS_FILE);
  assert.ok(names.length >= 4, `${names}`);
  for (const name of names)
    assert.is(readFileSync(join(out, name), 'utf8'), readFileSync(join(expected, name), 'utf8'), `${out}/${name}`);
}

for (const name of NAMES) {
  let onThreads = '';
  let first: string | undefined;
  test(`${name} runs on threads`, async () => {
    if (name === 'reproduce') first = await reproduceBegun();
    onThreads = await run(name, 'local', first);
  });
  testIf(HAS_REDIS, 'redis-server is not installed', `${name} has the same files from Redis`, async () => {
    assertSameFiles(await run(name, (redis as RedisServer).url, first), onThreads);
  });
  testIf(NO_SLURM === undefined, `${NO_SLURM}`, `${name} goes on under Slurm from a quarter of them`, async () => {
    Object.assign(process.env, slurm?.env);
    assertSameFiles(await run(name, 'slurm', first ?? begun(name, onThreads, 0.25)), onThreads);
  });
  testIf(NO_SLURM === undefined, `${NO_SLURM}`, `${name} goes on on threads from half of Slurm's`, async () => {
    const half = begun(name, folder(name, 'slurm'), name === 'reproduce' ? 0.95 : 0.5);
    rmSync(onThreads, { recursive: true });
    await run(name, 'local', half);
    assertSameFiles(onThreads, folder(name, 'slurm'));
  });
}

test.run();
