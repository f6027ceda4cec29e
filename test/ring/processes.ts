import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');

/** A running `hearth` process and its output. */
export interface Running {
  readonly child: ChildProcess;
  readonly pid: number;
  stdout: string;
  stderr: string;
  readonly ended: Promise<number | null>;
}

/** Starts `bin/hearth.js` without a terminal. */
export function startHearth(...options: readonly string[]): Running {
  return startProcess('bin/hearth.js', ...options);
}

/** Starts Node.js with these options, a TypeScript file among them, without a terminal. */
export function startNode(...options: readonly string[]): Running {
  return startProcess('--import', 'tsx', ...options);
}

function startProcess(...options: readonly string[]): Running {
  const child = spawn(process.execPath, options, { cwd: ROOT });
  const running: Running = {
    child,
    pid: child.pid as number,
    stdout: '',
    stderr: '',
    ended: new Promise((resolve) => child.on('close', (code) => resolve(code))),
  };
  child.stdout.on('data', (chunk) => {
    running.stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    running.stderr += chunk;
  });
  return running;
}

/** Waits until `found` holds. @throws Error with `what` after `seconds` */
export async function until(what: string, seconds: number, found: () => boolean): Promise<number> {
  const start = performance.now();
  while (!found()) {
    if (performance.now() - start > 1000 * seconds) throw new Error(`not within ${seconds} s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return (performance.now() - start) / 1000;
}

/** Seconds that a process may take to start; it takes long on a busy machine. */
const STARTED = 120;

/** Seconds for which the main thread of a worker that can hang waits for nothing, or computes, at a signal. */
export const HANG = 8;

const ON_SIGNAL = `
import { writeSync } from 'node:fs';
process.on('SIGUSR2', () => {
  writeSync(2, 'hangs\\n');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ${1000 * HANG});
});
process.on('SIGHUP', () => {
  writeSync(2, 'computes\\n');
  for (const end = performance.now() + ${1000 * HANG}; performance.now() < end; );
});`;

/** A worker process whose main thread hangs for HANG seconds at SIGUSR2, and computes as long at SIGHUP. */
export function startWorkerThatHangs(model: string) {
  const preload = `data:text/javascript,${encodeURIComponent(ON_SIGNAL)}`;
  return listening(startProcess('--import', preload, 'bin/hearth.js', ...workerOptions(model)));
}

/** A worker process on loopback, with one thread, and its address. */
export function startWorkerProcess(model: string, ...options: readonly string[]) {
  return listening(startHearth(...workerOptions(model, ...options)));
}

function workerOptions(model: string, ...options: readonly string[]): string[] {
  const links = options.includes('--keys') ? [] : ['--plain'];
  const listen = options.includes('--listen') ? [] : ['--listen', 'tcp://127.0.0.1:*'];
  return ['worker', '--model', model, '--threads', '1', ...listen, ...links, ...options];
}

async function listening(running: Running) {
  await until('a worker listens', STARTED, () => running.stderr.includes('listens at ')).catch((error: Error) => {
    running.child.kill('SIGKILL');
    throw error;
  });
  const address = /listens at (tcp:\/\/[\d.]+:\d+)/.exec(running.stderr)?.[1] as string;
  return { running, address };
}
