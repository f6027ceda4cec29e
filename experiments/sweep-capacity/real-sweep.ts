import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { busySeconds, processSeconds } from '../sweep/processor-times.ts';
import { connect } from '../sweep/redis/connection.ts';
import { redisStatus } from '../sweep/redis/status.ts';
import { redisExecutor } from '../sweep/redis/submit.ts';
import { createSweep } from '../sweep/sweep.ts';
import type { MeasuredSweep } from './service-times.ts';
import type { WaitingPoints } from './sweep-points.ts';

const ROOT = join(import.meta.dirname, '../..');
/** Workers have loaded their code when measuring begins, and none is idle yet when it ends. */
const [FROM, TO] = [0.3, 0.9];

/** Jobs done at a moment, and the seconds that processors have worked until then, by program. */
interface Look extends ReturnType<typeof busySeconds> {
  readonly done: number;
  readonly seconds: number;
  readonly workers: number;
  readonly redis: number;
}

/**
 * A sweep of `jobs` points that only wait, a point a job, with workers of one thread as programs of their own on this
 * machine, where Redis runs too, and this process as the submitter. Linux only: processor times come from /proc.
 */
export async function realSweep(
  url: string,
  { workers, jobSeconds, jobs }: Pick<MeasuredSweep, 'workers' | 'jobSeconds'> & { readonly jobs: number },
): Promise<MeasuredSweep> {
  const sweep = createSweep(
    'sweep-capacity',
    { seconds: jobSeconds, run: `${process.pid}-${performance.now()}` } satisfies WaitingPoints,
    jobs,
  );
  const command = ['bin/hearth.js', 'sweep-worker', '--on', url, '--threads', '1'];
  const children = Array.from({ length: workers }, () =>
    spawn(process.execPath, command, { cwd: ROOT, stdio: 'ignore' }),
  );
  const redis = await connect(url);
  const look = async (done: number): Promise<Look> => {
    const info = await redis.info('cpu');
    const [user = 0, system = 0] = ['user', 'sys'].map((name) =>
      Number(new RegExp(`^used_cpu_${name}:(.*)\\r?$`, 'm').exec(info)?.[1]),
    );
    return {
      done,
      seconds: performance.now() / 1000,
      workers: children.reduce((sum, { pid }) => sum + processSeconds(pid as number), 0),
      redis: user + system,
      ...busySeconds(),
    };
  };
  try {
    while ((await redisStatus(url)).workers.length < workers) await pause(100);
    let [first, last]: (Look | undefined)[] = [];
    let done = 0;
    for await (const { lines } of redisExecutor(url, { hangSeconds: 600, jobSeconds: 1e-6 }).results(sweep, 0)) {
      done += lines.length;
      if (first === undefined && done >= FROM * jobs) first = await look(done);
      if (last === undefined && done >= TO * jobs) last = await look(done);
    }
    const of = (key: keyof Look): number => (last as Look)[key] - (first as Look)[key];
    const own = of('workers') + of('own') + of('redis');
    return {
      workers,
      jobSeconds,
      jobsPerSecond: of('done') / of('seconds'),
      workerSeconds: of('workers') / of('done'),
      others: Math.max(0, of('machine') - own) / of('seconds'),
    };
  } finally {
    const ended = children.map((child) => once(child, 'close'));
    for (const child of children) child.kill();
    await Promise.all(ended);
    redis.disconnect();
  }
}
