import { spawn } from 'node:child_process';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a script as its user would, without a terminal. */
export function runScript(script: string, ...options: readonly string[]): Promise<Ended> {
  return runCommand([process.execPath, '--import', 'tsx', script, ...options]);
}

/** Runs a program, found as a shell would, in the project's folder and without a terminal. */
export function runCommand([program, ...options]: readonly string[]): Promise<Ended> {
  const child = spawn(program as string, options, { cwd: ROOT });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, stdout, stderr })));
}
