import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';

/** A `hearth` on a device of a lab, and what it has printed. */
export interface LabProcess {
  readonly stdout: string;
  readonly stderr: string;
  readonly ended: Promise<number | null>;
  /** Asks it to end (SIGTERM). */
  stop(): void;
}

export interface LabProcessParts {
  readonly namespace: string;
  /** DeviceGroup.joins. */
  readonly joins: readonly string[];
  /** Of `hearth`. */
  readonly options: readonly string[];
}

/**
 * MiB: a young generation that can't grow. Else it does so at some token, by as much as devices have to spare, and from
 * then on the system takes that from their weights, which no probe before could know.
 */
const STEADY_HEAP = '--max-semi-space-size=1';
const ROOT = join(import.meta.dirname, '../..');

/** The shell joins the groups, and becomes `ip`, which enters the namespace and becomes Node.js: one process, all told. */
export function startLabProcess({ namespace, joins, options }: LabProcessParts): LabProcess {
  const script = `${joins.map((file) => `echo $$ > ${file} && `).join('')}exec "$@"`;
  const hearth = [process.execPath, STEADY_HEAP, join(ROOT, 'bin/hearth.js'), ...options];
  const child: ChildProcess = spawn('sh', ['-c', script, 'sh', 'ip', 'netns', 'exec', namespace, ...hearth], {
    stdio: ['ignore', 'pipe', 'pipe'],
    // Ctrl-C is for the lab, which then ends its processes itself.
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
