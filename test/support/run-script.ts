import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const ROOT = join(import.meta.dirname, '../..');

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a script in its own process, without a terminal. */
export function runScript(script: string, ...options: readonly string[]): Promise<Ended> {
  return runCommand([process.execPath, ...loaderOf(script), script, ...options]);
}

/** Options of Node for a script: tsx compiles it; bin/hearth.js registers tsx, and would do all of it a second time. */
const loaderOf = (script: string): string[] => (script === 'bin/hearth.js' ? [] : ['--import', 'tsx']);

/** Runs a program from the PATH in the project's folder, without a terminal. */
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

/** Runs `hearth` with these options in this process, like runHere; bin/hearth.js only loads the same module. */
export function hearthHere(...options: readonly string[]): Promise<Ended> {
  return runHere('bin/hearth.ts', ...options);
}

let runs = 0;
let last: Promise<unknown> = Promise.resolve();

/**
 * Runs a script in this process by importing it, in a tenth of the time of runScript, since most modules are loaded
 * already. Runs wait for each other, since a process has one command line and one stdout.
 */
export function runHere(script: string, ...options: readonly string[]): Promise<Ended> {
  const run = last.then(() => importScript(script, options));
  last = run.catch(() => {});
  return run;
}

async function importScript(script: string, options: readonly string[]): Promise<Ended> {
  const { argv, exitCode } = process;
  const directory = process.cwd();
  const path = join(ROOT, script);
  const [stdout, stderr] = [capture(process.stdout), capture(process.stderr)];
  process.argv = [process.execPath, path, ...options];
  process.exitCode = undefined;
  process.chdir(ROOT);
  try {
    // With the query it is a new module, which is evaluated again; its imports are not.
    await import(`${pathToFileURL(path).href}?run=${++runs}`);
    return { code: Number(process.exitCode ?? 0), stdout: stdout.text, stderr: stderr.text };
  } finally {
    for (const { release } of [stdout, stderr]) release();
    process.argv = argv;
    process.exitCode = exitCode;
    process.chdir(directory);
  }
}

/** Captures writes to a stream, which doesn't count as a terminal meanwhile. */
function capture(stream: NodeJS.WriteStream): { text: string; release: () => void } {
  const { write, isTTY } = stream;
  const errors = stream.listeners('error');
  const captured = {
    text: '',
    release() {
      Object.assign(stream, { write, isTTY });
      for (const listener of stream.listeners('error'))
        if (!errors.includes(listener)) stream.off('error', listener as () => void);
    },
  };
  Object.assign(stream, {
    write: (chunk: string | Uint8Array) => {
      captured.text += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString();
      return true;
    },
    isTTY: false,
  });
  return captured;
}
