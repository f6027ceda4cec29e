import { Redis } from 'ioredis';
import { InputError } from '../../../engine/input/input-error.ts';
import { formatRedisAddress, parseRedisAddress, type RedisAddress } from './address.ts';

/** Seconds after which an address where nothing answers is reported. */
const ANSWER_SECONDS = 2;

/** The oldest version that BullMQ's scripts run on. */
const OLDEST_MAJOR = 5;

/**
 * A connection, which comes back by itself if Redis is started again; commands wait meanwhile.
 * @throws InputError if no Redis answers at first, or one that can't be used
 */
export async function connect(url: string): Promise<Redis> {
  const address = parseRedisAddress('--on', url);
  const { host, port, username, password, database, tls } = address;
  const redis = new Redis({
    ...{ host, port, db: database, lazyConnect: true, maxRetriesPerRequest: null, retryStrategy: () => 200 },
    // ioredis waits so long for the end of a connection, even of one that has ended; its usual two seconds hold a process.
    disconnectTimeout: 200,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(tls && { tls: {} }),
  });
  let reason = 'nothing answers';
  redis.on('error', (error: Error) => {
    reason = error.message || reason;
  });
  const tooLong = new Promise<undefined>((resolve) => setTimeout(resolve, 1000 * ANSWER_SECONDS, undefined).unref());
  try {
    const info = await Promise.race([redis.info('server'), tooLong]);
    if (info === undefined)
      throw new InputError(
        '--on',
        `no Redis at ${formatRedisAddress(address)} (${reason}); start redis-server there, with --appendonly yes`,
      );
    const version = /^redis_version:(\S+)/m.exec(info)?.[1] ?? 'unknown';
    if (!(Number.parseInt(version, 10) >= OLDEST_MAJOR))
      throw problem(address, `is of version ${version}; ${OLDEST_MAJOR}.0 or newer is needed`);
    return redis;
  } catch (error) {
    redis.disconnect();
    throw redisProblem(url, error);
  }
}

function problem(address: RedisAddress, found: string): InputError {
  return new InputError('--on', `the Redis at ${formatRedisAddress(address)} ${found}`);
}

/** Meanings of a Redis's replies, and what to do. */
const REPLIES: readonly (readonly [reply: RegExp, meaning: string])[] = [
  [/^NOAUTH/, 'wants a password; give redis://:PASSWORD@HOST:PORT'],
  [/^WRONGPASS|invalid (username-)?password/i, 'refuses this user or password; give redis://[USER]:PASSWORD@HOST:PORT'],
  [/^NOPERM/, 'denies this user a command; give the user permission for all commands on hearth:* and bull:*'],
  [/^OOM/, 'is full; raise its maxmemory or remove other data, then the same command goes on from there'],
  [/^MISCONF/, 'can’t write to its disk; make room there, then the same command goes on from there'],
  [/^READONLY/, 'is a replica, which can only be read; name its master'],
  [/max number of clients/, 'has as many clients as it allows; raise its maxclients'],
  [/DB index is out of range/, 'has no database of this number; leave it out of the URL'],
  [
    /^WRONGTYPE/,
    'has keys hearth:* that another program wrote; remove those, or name another database: redis://HOST:PORT/1',
  ],
  [/^LOADING/, 'is still loading its data; wait for it'],
  [/^Protocol error|^Unknown RESP type/, 'answers as no Redis does; name the port of one'],
  [/^Connection is closed/, 'is gone; start it again, then the same command goes on from there'],
];

/** An error of a Redis or its connection as one for people; any other error unchanged. */
export function redisProblem(url: string, error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof InputError) return error;
  const meaning = REPLIES.find(([reply]) => reply.test(error.message))?.[1];
  if (meaning === undefined && error.name !== 'ReplyError') return error;
  return problem(parseRedisAddress('--on', url), meaning ?? `refuses a command (${error.message})`);
}

/** Ends a connection whose Redis is gone, and all commands that wait for it with an error. */
export function giveUp(redis: Redis): void {
  // Between two attempts there is nothing to disconnect: the next attempt is the last.
  redis.options.retryStrategy = () => null;
  if (redis.status !== 'reconnecting') redis.disconnect();
}

/** Milliseconds between two looks at a connection, and looks without an answer after which Redis is gone. */
const LOOK = 500;
const MOST_MISSED = 6;

export interface ConnectionWatch {
  /** Redis hasn't answered for some seconds. */
  readonly gone: boolean;
  stop(): void;
}

/** Watches a connection by commands of its own, and calls `onChange` when Redis is gone, and when it is back. */
export function watchConnection(redis: Redis, onChange: (gone: boolean) => void): ConnectionWatch {
  let [missed, asked, gone] = [0, false, false];
  const change = (to: boolean): void => {
    if (gone === to) return;
    gone = to;
    onChange(to);
  };
  const answered = (): void => {
    [missed, asked] = [0, false];
    change(false);
  };
  const look = (): void => {
    if (!asked) {
      asked = true;
      redis.ping().then(answered, () => {
        asked = false;
      });
    }
    // A connection without commands yet: Redis is reading its data.
    else if (redis.status === 'connect') missed = 0;
    else missed += 1;
    if (missed >= MOST_MISSED) change(true);
  };
  const timer = setInterval(look, LOOK);
  return {
    get gone() {
      return gone;
    },
    stop: () => clearInterval(timer),
  };
}
