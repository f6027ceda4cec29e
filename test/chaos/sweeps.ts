import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { RandomStream } from '../../engine/input/random-stream.ts';
import { readStatus, STATUS_FILE } from '../../experiments/sweep/status-file.ts';
import { startRedis } from '../support/redis-server.ts';
import { pause, STARTED, startBehind, startHearth, type TimedProcess, until, within } from './process.ts';
import type { Subject } from './subject.ts';

/** Random homes of a sweep, each with ten points. */
const HOMES = 1000;
const SWEEP = ['--import', 'tsx', 'experiments/upgrades.ts'];
/** Seconds without a sign of a worker after which its jobs go to others. */
const LOST_AFTER = 3;
/** Seconds for which a worker is stopped: longer, so that its results come late and twice. */
const STOPPED = 6;
/** Longest time of a sweep, with a machine that does other things too. */
const MOST_SECONDS = 240;

const FAULTS = {
  'kill-sweeper': 'SIGKILL of a worker of a sweep: its results never come',
  'stop-sweeper': 'SIGSTOP of a worker of a sweep: its results come late, when others have given them',
  'kill-redis': 'SIGKILL of Redis, and a start anew',
  'kill-submitter': 'SIGKILL of a sweep’s command, which is given again',
};

/** Sweeps by two workers at a Redis, one of which is watched. */
export async function openSweeps(folder: string, random: RandomStream): Promise<Subject> {
  mkdirSync(join(folder, 'redis'), { recursive: true });
  const redis = await startRedis(join(folder, 'redis'));
  const startWorker = async (): Promise<TimedProcess> => {
    const worker = startHearth(
      ...['sweep-worker', '--on', redis.url, '--threads', '1', '--lost-after', String(LOST_AFTER)],
    );
    await until(STARTED, () => worker.lines.length > 0 || worker.code !== undefined);
    return worker;
  };
  const [watched, first] = await Promise.all([startWorker(), startWorker()]);
  let struck = first;
  let sweeps = 0;

  const filesOf = (out: string): Map<string, string> =>
    new Map(
      readdirSync(out)
        .filter((name) => name !== STATUS_FILE)
        .map((name) => [name, readFileSync(join(out, name), 'latin1')]),
    );
  const begin = (out: string, seed: number, ...on: readonly string[]): TimedProcess =>
    startBehind(SWEEP, ['--homes', String(HOMES), '--seed', String(seed), '--out', out, ...on]);
  /** Strikes. @returns the command that goes on */
  const strikes: Record<
    keyof typeof FAULTS,
    (submitter: TimedProcess, again: () => TimedProcess) => Promise<TimedProcess>
  > = {
    async 'kill-sweeper'(submitter) {
      struck.signal('SIGKILL');
      struck = await startWorker();
      return submitter;
    },
    async 'stop-sweeper'(submitter) {
      struck.signal('SIGSTOP');
      await pause(STOPPED);
      struck.signal('SIGCONT');
      return submitter;
    },
    async 'kill-redis'(submitter) {
      await redis.killAndRestart();
      return submitter;
    },
    async 'kill-submitter'(submitter, again) {
      submitter.signal('SIGKILL');
      await submitter.ended;
      return again();
    },
  };
  return {
    faults: FAULTS,
    watched: [{ name: 'the sweep’s watched worker', pid: watched.pid }],
    async round(fault) {
      const seed = 1 + HOMES * ++sweeps;
      const [out, alone] = ['disturbed', 'alone'].map((name) => join(folder, `${name}-${sweeps}`)) as [string, string];
      const start = (): TimedProcess => begin(out, seed, '--on', redis.url);
      const begun = start();
      const share = random.uniform(0.1, 0.7);
      const reached = (): boolean => {
        const status = readStatus(out);
        return status !== undefined && status.done >= share * status.points;
      };
      await until(MOST_SECONDS, () => reached() || begun.code !== undefined);
      const submitter = await strikes[fault as keyof typeof FAULTS](begun, start);
      const ended = await within(MOST_SECONDS, submitter.ended);
      const broken: string[] = [];
      const last = submitter.lines.at(-1)?.text;
      if (ended === undefined) {
        submitter.signal('SIGKILL');
        broken.push(`a sweep is not over after ${MOST_SECONDS} s: ${last}`);
      } else if (ended.code !== 0) broken.push(`a sweep ended with ${ended.code}: ${last}`);
      else {
        await begin(alone, seed, '--workers', '1').ended;
        const [found, expected] = [filesOf(out), filesOf(alone)];
        for (const [name, text] of expected)
          if (found.get(name) !== text) broken.push(`${name} of a sweep differs from that of one on threads`);
        if (expected.size === 0) broken.push('a sweep on threads wrote nothing');
      }
      if (watched.code !== undefined) broken.push(`the watched worker ended with ${watched.code}`);
      for (const place of [out, alone]) rmSync(place, { recursive: true, force: true });
      const whole = broken.length === 0 ? 1 : 0;
      return { whole, brokenOff: 0, broken };
    },
    async close() {
      for (const worker of [watched, struck]) {
        worker.signal('SIGCONT');
        worker.signal('SIGKILL');
      }
      await redis.stop();
    },
  };
}
