import { type ChildProcess, fork } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitedBy } from '../support/waited-by.ts';
import type { FuzzBundle } from './bundle.ts';
import type { Judged, Task } from './child.ts';

/** Limits of a process that judges inputs. */
export interface Limits {
  /** Seconds for one input, without those in which its process waits for a processor. */
  readonly seconds: number;
  /** Memory of the process (RSS), bytes. */
  readonly bytes: number;
}

export const LIMITS: Limits = { seconds: 10, bytes: 10 ** 9 };

/** Why a process ended before it had judged its task, and the number of the input that it was at. */
export interface Ended {
  readonly reason: string;
  readonly number: number;
}

/** A process that judges inputs of one target, within limits. */
export interface JudgingProcess {
  /** Judges a task. After an end it must not be used again. */
  judge(task: Task): Promise<Judged | Ended>;
  close(): void;
}

const CHECK_MILLISECONDS = 200;
const NUMBER_BYTES = 8;
/** A process that is not ready by then never will be, seconds; loading takes long on a busy machine. */
const READY_SECONDS = 120;
/** The last lines that a process wrote before it ended, characters. */
const LAST_WORDS = 300;

/** @param bundle of the program (child.ts) and the target's module */
export async function startProcess(
  { program, module }: FuzzBundle,
  seed: number,
  limits: Limits,
): Promise<JudgingProcess> {
  const folder = mkdtempSync(join(tmpdir(), 'hearth-fuzz-'));
  const place = join(folder, 'number');
  writeFileSync(place, new Uint8Array(NUMBER_BYTES));
  const child = fork(program, [module, String(seed), place], {
    serialization: 'advanced',
    execArgv: ['--enable-source-maps', `--max-old-space-size=${Math.floor(limits.bytes / 2 ** 20)}`],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let errors = '';
  child.stderr?.on('data', (chunk) => {
    errors = `${errors}${chunk}`.slice(-LAST_WORDS);
  });
  const number = (): number => new DataView(Uint8Array.from(readFileSync(place)).buffer).getFloat64(0);
  const close = (): void => {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  };
  await new Promise<void>((resolve, reject) => {
    const fail = (): void => reject(new Error(`the process of ${module} did not start: ${errors}`));
    const timer = setTimeout(fail, 1000 * READY_SECONDS);
    child.once('message', () => resolve()).once('exit', fail);
    child.once('message', () => {
      clearTimeout(timer);
      child.off('exit', fail);
    });
  }).catch((error: Error) => {
    close();
    throw error;
  });
  return {
    close,
    judge: (task) =>
      new Promise((resolve) => {
        let [at, since] = [number(), undelayed(child)];
        const finish = (answer: Judged | Ended): void => {
          clearInterval(check);
          child.off('message', finish).off('exit', onExit);
          resolve(answer);
        };
        const end = (reason: string): void => {
          const ended = { reason, number: number() };
          child.off('exit', onExit);
          child.kill('SIGKILL');
          finish(ended);
        };
        const onExit = (code: number | null, signal: string | null): void =>
          end(`the process ended with ${signal ?? `code ${code}`}${errors === '' ? '' : `: ${errors.trim()}`}`);
        const check = setInterval(() => {
          const now = number();
          if (now !== at) [at, since] = [now, undelayed(child)];
          if (undelayed(child) - since > limits.seconds) end(`took longer than ${limits.seconds} s`);
          else if (residentBytes(child) > limits.bytes) end(`took more than ${limits.bytes / 1e9} GB of memory`);
        }, CHECK_MILLISECONDS);
        child.on('message', finish).on('exit', onExit);
        child.send(task);
      }),
  };
}

/** Seconds of a clock that stands still while a process waits for a processor; where that isn't known, of a usual one. */
function undelayed({ pid }: ChildProcess): number {
  return performance.now() / 1000 - (waitedBy(pid ?? 0) ?? 0);
}

/** Memory of a process by /proc; 0 where there is none, and peaks in answers are the only check. */
function residentBytes({ pid }: ChildProcess): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return 1024 * Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0);
  } catch {
    return 0;
  }
}
