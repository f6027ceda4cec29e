import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitedBy } from '../support/waited-by.ts';

const ROOT = join(import.meta.dirname, '../..');

/** Text that a process wrote at a time, seconds on the clock of `now`. */
export interface Written {
  readonly at: number;
  readonly text: string;
}

/** A running `hearth`, with what it wrote and when. */
export interface TimedProcess {
  readonly pid: number;
  /** Lines of stderr. */
  readonly lines: readonly Written[];
  /** Pieces of stdout. */
  readonly output: readonly Written[];
  readonly code: number | null | undefined;
  /** Seconds between two times in which its main thread could run and had no processor (Linux; 0 elsewhere). */
  waited(from: number, to: number): number;
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
  signal(name: NodeJS.Signals): void;
}

export interface ProcessOptions {
  /** A program and its options in front of Node.js, such as `ip netns exec NAME`. */
  readonly wrapper: readonly string[];
  /** Files to which the process writes its id first: control groups. */
  readonly joins: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** The program that Node.js runs. Default: `hearth` with what makes it hang and lie on signals. */
  readonly script?: readonly string[];
  readonly options: readonly string[];
}

/** A process that hasn't started by then never will, seconds; behind all others of a busy machine it takes minutes. */
export const STARTED = 600;

/** Seconds on a clock that never goes back. */
export function now(): number {
  return performance.now() / 1000;
}

const PRELOADED = ['hang-on-signal.mjs', 'lie-on-signal.mjs'].flatMap((file) => [
  '--import',
  join(import.meta.dirname, file),
]);

const HEARTH = join(ROOT, 'bin/hearth.js');

/** Processes that have not ended; none outlives this one. */
const living = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of living) child.kill('SIGKILL');
});

/** Starts a script as one process: a shell joins the groups and becomes the wrapper, which becomes Node.js. */
export function startTimed({
  wrapper,
  joins,
  environment,
  options,
  script: own = [...PRELOADED, HEARTH],
}: ProcessOptions): TimedProcess {
  const script = `${joins.map((file) => `echo $$ > ${file} && `).join('')}exec "$@"`;
  const child = spawn('sh', ['-c', script, 'sh', ...wrapper, process.execPath, ...own, ...options], {
    cwd: ROOT,
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  living.add(child);
  const lines: Written[] = [];
  const output: Written[] = [];
  let partial = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => output.push({ at: now(), text }));
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    const parts = `${partial}${chunk}`.split('\n');
    partial = parts.pop() ?? '';
    for (const text of parts) lines.push({ at: now(), text });
  });
  const pid = child.pid as number;
  const waits: { readonly at: number; readonly seconds: number }[] = [];
  const looks = setInterval(() => {
    const seconds = waitedBy(pid);
    if (seconds !== undefined) waits.push({ at: now(), seconds });
  }, 50).unref();
  const waitedUntil = (time: number): number => waits.findLast(({ at }) => at <= time)?.seconds ?? 0;
  let code: number | null | undefined;
  return {
    pid,
    waited: (from, to) => Math.max(0, waitedUntil(to) - waitedUntil(from)),
    lines,
    output,
    get code() {
      return code;
    },
    ended: new Promise((resolve) =>
      child.on('close', (status, signal) => {
        living.delete(child);
        clearInterval(looks);
        code = status;
        if (partial !== '') lines.push({ at: now(), text: partial });
        resolve({ code: status, signal });
      }),
    ),
    signal: (name) => void child.kill(name),
  };
}

/** A process of a script in the background: on loopback, and after all others of the machine. */
export function startBehind(script: readonly string[], options: readonly string[]): TimedProcess {
  return startTimed({ wrapper: ['nice', '-n', '10'], joins: [], environment: {}, script, options });
}

/** A `hearth` in the background. */
export function startHearth(...options: readonly string[]): TimedProcess {
  return startBehind([HEARTH], options);
}

/** Memory and descriptors of a process. */
export interface Held {
  readonly bytes: number;
  readonly descriptors: number;
}

/** Memory and descriptors that a process holds (Linux); `undefined` elsewhere, or once it has ended. */
export function heldBy(pid: number): Held | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const bytes = 1024 * Number(/RssAnon:\s+(\d+) kB/.exec(status)?.[1]);
    return { bytes, descriptors: readdirSync(`/proc/${pid}/fd`).length };
  } catch {
    return undefined;
  }
}

/** Waits until `found` returns a value; `undefined` after `seconds`. */
export async function until<Value>(
  seconds: number,
  found: () => Value | undefined | false,
): Promise<Value | undefined> {
  const end = now() + seconds;
  for (;;) {
    const value = found();
    if (value !== undefined && value !== false) return value;
    if (now() > end) return undefined;
    await pause(0.01);
  }
}

/** The value of a promise; `undefined` after `seconds`. No timer is left, which would keep the process. */
export async function within<Value>(seconds: number, promise: Promise<Value>): Promise<Value | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), 1000 * seconds);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

export function pause(seconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
}
