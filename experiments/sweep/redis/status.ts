import { InputError } from '../../../engine/input/input-error.ts';
import { codeVersion } from '../version.ts';
import { connect, redisProblem } from './connection.ts';
import { KEYS, listSweeps, liveWorkers, loadSweep, readTimes, type WorkerReport } from './store.ts';

/** A sweep in Redis, and how far it is. */
export interface RedisSweepStatus {
  readonly id: string;
  readonly kind: string;
  readonly points: number;
  readonly done: number;
  /** Share of the workers' time that went into points; undefined before the first job has ended. */
  readonly inPoints: number | undefined;
  /** Seconds left, by the mean time of a point and the threads that are there. */
  readonly secondsLeft: number | undefined;
}

export interface RedisStatus {
  readonly version: string;
  readonly sweeps: readonly RedisSweepStatus[];
  readonly workers: readonly WorkerReport[];
}

/** The sweeps of this version at a Redis, and all workers; records that are none are left out. @throws InputError if there is no Redis */
export async function redisStatus(url: string): Promise<RedisStatus> {
  const redis = await connect(url);
  try {
    const workers = await liveWorkers(redis);
    const threads = workers
      .filter(({ version }) => version === codeVersion())
      .reduce((sum, worker) => sum + worker.threads, 0);
    const sweeps: RedisSweepStatus[] = [];
    for (const { id, version } of await listSweeps(redis)) {
      if (version !== codeVersion()) continue;
      const sweep = await loadSweep(redis, id).catch((error: unknown) => {
        if (error instanceof InputError) return undefined;
        throw error;
      });
      if (sweep === undefined) continue;
      const { kind, count, block } = sweep;
      const done = Math.min(count, block * (await redis.hlen(KEYS.results(id))));
      const { busy, spent, points } = await readTimes(redis, id);
      const known = points > 0 && spent > 0;
      const rate = known ? (threads * points) / spent : 0;
      sweeps.push({
        id,
        kind,
        points: count,
        done,
        inPoints: known ? busy / spent : undefined,
        secondsLeft: rate > 0 ? (count - done) / rate : undefined,
      });
    }
    return { version: codeVersion(), sweeps, workers };
  } catch (error) {
    throw redisProblem(url, error);
  } finally {
    redis.disconnect();
  }
}
