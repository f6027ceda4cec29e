import { type ChildProcess, fork, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createNamedModel, loadCatalogue, loadDevices } from '../../datasets/load.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import { busySeconds, threadSeconds } from '../../experiments/sweep/processor-times.ts';
import { redisExecutor } from '../../experiments/sweep/redis/submit.ts';
import { createSweep, loadEvaluate, type Sweep } from '../../experiments/sweep/sweep.ts';
import { type Answer, UPGRADES, type UpgradesSetting, upgradableMachines } from '../../experiments/upgrades/homes.ts';
import { upgradeParts } from '../../planner/changes.ts';
import { startRedis } from '../support/redis-server.ts';
import { summarise } from './measure.ts';

/**
 * How well a sweep scales from one worker to two on this machine, by turns with a control: as many plain processes,
 * without a queue, that compute the same points. Wall time is at the mercy of other programs, so processor time stands
 * next to it: points per second of the threads that compute them, and what everything else takes.
 *
 *     npx tsx test/bench/sweep-scaling.ts [homes] [turns] [simulated|predicted]     (Linux, with redis-server)
 */
const isPlain = process.argv[2] === 'plain';
const [homesText = '3000', turnsText = '3', answer = 'simulated'] = process.argv.slice(isPlain ? 3 : 2);
const [homes, TURNS] = [Number(homesText), Number(turnsText)];
/** Workers have loaded their code when measuring begins, and none is idle yet when it ends. */
const [FROM, TO] = [0.25, 0.9];

const models = ['Llama-3-8B', 'Llama-3-70B'].map((name) => createNamedModel(loadCatalogue(), name));
const setting: UpgradesSetting = {
  seed: 1,
  models,
  workload: createWorkload({ context: 1024 }),
  parts: upgradeParts(loadDevices()),
  upgradable: upgradableMachines(loadDevices()),
  answer: answer as Answer,
};
const sweep: Sweep = createSweep('upgrades', setting, homes * models.length * UPGRADES.length);

/** The control's code is compiled as that of the workers' threads. */
const HOOKS = `data:text/javascript,import { register } from 'node:module'; register('${new URL('../../experiments/sweep/typescript-hooks.mjs', import.meta.url).href}');`;

/** Points between two messages of the control. */
const REPORT = 250;

/** A process of the control: computes points until it is killed. */
async function plainProcess(): Promise<void> {
  const evaluate = await loadEvaluate(sweep);
  for (let point = 0; ; point = (point + 1) % sweep.count) {
    evaluate(point);
    if (point % REPORT !== REPORT - 1) continue;
    process.send?.(REPORT);
    await pause(0);
  }
}

interface Turn {
  readonly pointsPerSecond: number;
  readonly pointsPerThreadSecond: number;
  /** Per second of processor time of workers, submitter and Redis together. */
  readonly pointsPerProcessorSecond: number;
  /** Processors in use on average: by workers in addition to the threads that compute, by the submitter, by Redis, by others. */
  readonly helpers: number;
  readonly submitter: number;
  readonly redis: number;
  readonly others: number;
}

interface Look {
  readonly seconds: number;
  readonly points: number;
  readonly workers: readonly Map<number, number>[];
  readonly redis: number;
  readonly busy: ReturnType<typeof busySeconds>;
}

const sum = (values: Iterable<number>): number => [...values].reduce((total, value) => total + value, 0);

function look(points: number, workers: readonly ChildProcess[], redis?: number): Look {
  return {
    seconds: performance.now() / 1000,
    points,
    workers: workers.map(({ pid }) => threadSeconds(pid as number)),
    redis: redis === undefined ? 0 : sum(threadSeconds(redis).values()),
    busy: busySeconds(),
  };
}

function turnBetween(first: Look, last: Look): Turn {
  const seconds = last.seconds - first.seconds;
  const points = last.points - first.points;
  const threads = last.workers.map((worker, index) =>
    [...worker].map(([thread, spent]) => spent - (first.workers[index]?.get(thread) ?? 0)),
  );
  const computing = sum(threads.map((spent) => Math.max(...spent)));
  const workers = sum(threads.flat());
  const redis = last.redis - first.redis;
  const submitter = last.busy.own - first.busy.own;
  const machine = last.busy.machine - first.busy.machine;
  return {
    pointsPerSecond: points / seconds,
    pointsPerThreadSecond: points / computing,
    pointsPerProcessorSecond: points / (workers + redis + submitter),
    helpers: (workers - computing) / seconds,
    submitter: submitter / seconds,
    redis: redis / seconds,
    others: (machine - workers - redis - submitter) / seconds,
  };
}

async function workersTurn(count: number): Promise<Turn> {
  const folder = mkdtempSync(join(tmpdir(), 'hearth-sweep-scaling-'));
  const redis = await startRedis(folder);
  const workers = Array.from({ length: count }, () =>
    spawn(process.execPath, ['bin/hearth.js', 'sweep-worker', '--on', redis.url, '--threads', '1'], {
      stdio: 'ignore',
    }),
  );
  try {
    let [first, last]: (Look | undefined)[] = [];
    let done = 0;
    for await (const { lines } of redisExecutor(redis.url, { hangSeconds: 600 }).results(sweep, 0)) {
      done += lines.length;
      if (first === undefined && done > FROM * sweep.count) first = look(done, workers, redis.pid);
      if (last === undefined && done > TO * sweep.count) last = look(done, workers, redis.pid);
    }
    return turnBetween(first as Look, last as Look);
  } finally {
    for (const worker of workers) worker.kill('SIGKILL');
    await redis.stop();
    rmSync(folder, { recursive: true });
  }
}

async function controlTurn(count: number): Promise<Turn> {
  const workers = Array.from({ length: count }, () =>
    fork(import.meta.filename, ['plain', `${homes}`, '1', answer], { execArgv: ['--import', HOOKS] }),
  );
  let [first]: (Look | undefined)[] = [];
  let done = 0;
  try {
    return await new Promise((resolve) => {
      const note = (points: number): void => {
        done += points;
        if (first === undefined && done > FROM * sweep.count) first = look(done, workers);
        if (done > TO * sweep.count) resolve(turnBetween(first as Look, look(done, workers)));
      };
      for (const worker of workers) worker.on('message', note);
    });
  } finally {
    for (const worker of workers) worker.kill('SIGKILL');
  }
}

const KINDS = { workers: workersTurn, 'plain processes': controlTurn } as const;

async function main(): Promise<void> {
  const turns = new Map<string, Turn[]>();
  for (let round = 0; round < TURNS; round++)
    for (const count of [1, 2])
      for (const [name, take] of Object.entries(KINDS)) {
        const turn = await take(count);
        const key = `${count} ${name}`;
        turns.set(key, [...(turns.get(key) ?? []), turn]);
        const { pointsPerSecond, pointsPerThreadSecond, pointsPerProcessorSecond, ...shares } = turn;
        const text = Object.entries(shares).map(([who, share]) => `${who} ${share.toFixed(2)}`);
        console.log(
          `${key}: ${pointsPerSecond.toFixed(0)} points/s, ${pointsPerThreadSecond.toFixed(0)} per second of the computing threads, ${pointsPerProcessorSecond.toFixed(0)} per second of all processor time; processors: ${text.join(', ')}`,
        );
      }
  const median = (key: string, of: (turn: Turn) => number): number => summarise((turns.get(key) ?? []).map(of)).median;
  const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
  for (const name of Object.keys(KINDS)) {
    const ratio = (of: (turn: Turn) => number): number => median(`2 ${name}`, of) / median(`1 ${name}`, of);
    const wall = ratio(({ pointsPerSecond }) => pointsPerSecond) / 2;
    const threads = ratio(({ pointsPerThreadSecond }) => pointsPerThreadSecond);
    // One worker leaves room for garbage collection, submitter and Redis on the other processor; two share with them.
    const most =
      median(`2 ${name}`, ({ pointsPerProcessorSecond }) => pointsPerProcessorSecond) /
      median(`1 ${name}`, ({ pointsPerThreadSecond }) => pointsPerThreadSecond);
    console.log(
      `${name}: efficiency ${percent(wall)} in wall time, ${percent(threads)} in time of the computing threads; two free processors allow ${percent(Math.min(1, most))}`,
    );
  }
}

if (isPlain) await plainProcess();
else await main();
