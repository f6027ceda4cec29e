import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { connect as dial } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from './free-port.ts';

/** Whether redis-server is installed. */
export const HAS_REDIS = ((): boolean => {
  try {
    execFileSync('redis-server', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

export interface RedisServer {
  readonly url: string;
  readonly pid: number;
  /** Kills it with SIGKILL, and starts it again on the same append-only file. */
  killAndRestart(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts Debian's redis-server on a free port, with its append-only file in `folder`. @param more further options */
export async function startRedis(folder: string, ...more: readonly string[]): Promise<RedisServer> {
  const port = await freePort();
  const options = [
    '--port',
    `${port}`,
    '--bind',
    '127.0.0.1',
    '--dir',
    folder,
    '--appendonly',
    'yes',
    '--save',
    '',
    ...more,
  ];
  const start = async (): Promise<ChildProcess> => {
    const child = spawn('redis-server', options, { stdio: 'ignore' });
    while (!(await answers(port))) await pause(20);
    return child;
  };
  let child = await start();
  const kill = async (): Promise<void> => {
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
  };
  return {
    url: `redis://127.0.0.1:${port}`,
    get pid() {
      return child.pid as number;
    },
    async killAndRestart() {
      await kill();
      child = await start();
    },
    stop: kill,
  };
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = dial(port, '127.0.0.1');
    socket.once('connect', () => socket.end(() => resolve(true)));
    socket.once('error', () => resolve(false));
  });
}
