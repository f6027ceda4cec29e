import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';

/** A running program on one device of a lab, and what it has printed so far. */
export interface LabProcess {
  readonly stdout: string;
  readonly stderr: string;
  /** Exit code; `null` if a signal ended it. */
  readonly ended: Promise<number | null>;
  /** Asks the process to end (SIGTERM). */
  stop(): void;
}

export interface LabProcessParts {
  readonly namespace: string;
  /** DeviceGroup.joins. */
  readonly joins: readonly string[];
  /** Node.js's options, the program, by default `hearth`, and its own. */
  readonly program?: readonly string[];
  readonly options: readonly string[];
}

/**
 * Keeps V8's heap at one size. Otherwise the young generation grows at some token by as much as the device has to spare;
 * and some seconds into a run the memory reducer gives back what loading the model has left, 15 to 18 MiB (measured).
 * Weights' pages would have less or more room from then on, which no earlier probe could see.
 */
const STEADY_HEAP = ['--max-semi-space-size=1', '--no-memory-reducer'];
const ROOT = join(import.meta.dirname, '../..');

const HEARTH = [join(ROOT, 'bin/hearth.js')];

/** Starts a program as a single process: a shell joins the groups and becomes `ip`, which enters the namespace and becomes Node.js. */
export function startLabProcess({ namespace, joins, program = HEARTH, options }: LabProcessParts): LabProcess {
  const script = `${joins.map((file) => `echo $$ > ${file} && `).join('')}exec "$@"`;
  const command = [process.execPath, ...STEADY_HEAP, ...program, ...options];
  const child: ChildProcess = spawn('sh', ['-c', script, 'sh', 'ip', 'netns', 'exec', namespace, ...command], {
    stdio: ['ignore', 'pipe', 'pipe'],
    // Ctrl-C reaches the lab alone, which then ends its processes itself.
    detached: true,
  });
  let [stdout, stderr] = ['', ''];
  child.stdout?.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr?.on('data', (chunk) => {
    stderr += chunk;
  });
  return {
    get stdout() {
      return stdout;
    },
    get stderr() {
      return stderr;
    },
    ended: new Promise((resolve) => child.on('close', resolve)),
    stop: () => {
      child.kill('SIGTERM');
    },
  };
}

const END_SECONDS = 10;
const RETRY_MILLISECONDS = 10;

/**
 * Kills processes and removes their groups, retrying until the operating system allows it. Blocks, since it must also
 * work while this process exits.
 * @param processes ids of the processes that are left
 * @param remove throws as long as processes are left
 * @throws Error from `remove` if it still fails after 10 seconds
 */
export function endProcesses(processes: () => readonly number[], remove: () => void): void {
  const sleeper = new Int32Array(new SharedArrayBuffer(4));
  const deadline = performance.now() + 1000 * END_SECONDS;
  for (;;) {
    for (const pid of processes()) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has already ended.
      }
    }
    try {
      remove();
      return;
    } catch (error) {
      if (performance.now() > deadline) throw error;
      Atomics.wait(sleeper, 0, 0, RETRY_MILLISECONDS);
    }
  }
}
