import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { run } from 'uvu/run';

/**
 * Runs every test file below test/ with uvu, or those whose path contains one of the arguments. Many files are shared out
 * among two processes; the second's output follows the first's. Ends with the line `N passed, N failed, N skipped` from
 * uvu's own summaries; a run in which no test executed fails.
 */
const root = import.meta.dirname;
/** From so many files on a second process pays for its start. */
const SHARED_FILES = 12;
const PROCESSES = Math.min(2, availableParallelism());

interface Counts {
  readonly total: number;
  readonly passed: number;
  readonly skipped: number;
}

/** From the end of uvu's output, which colours its summary with escape sequences. */
function countsIn(printed: string): Counts {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with a control character
  const summary = printed.slice(-2000).replace(/\x1b\[\d+m/g, '');
  const count = (label: string): number =>
    Number(new RegExp(`${label}:\\s+(\\d+)\\s*\\n`).exec(summary)?.[1] ?? Number.NaN);
  return { total: count('Total'), passed: count('Passed'), skipped: count('Skipped') };
}

async function runHere(files: readonly string[]): Promise<Counts> {
  let printed = '';
  const write = process.stdout.write.bind(process.stdout);
  process.stdout.write = ((chunk: string | Uint8Array, ...rest: []) => {
    printed = (printed + String(chunk)).slice(-4000);
    return write(chunk, ...rest);
  }) as typeof process.stdout.write;
  await run(files.map((name) => ({ name, file: join(root, name) })));
  process.stdout.write = write;
  return countsIn(printed);
}

/** Runs files in a process of their own; its output is handed to `print` as it comes. */
function runThere(files: readonly string[], print: (text: string) => void): Promise<Counts> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...process.execArgv, import.meta.filename, '--files', ...files], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, FORCE_COLOR: process.stdout.isTTY ? '1' : '0' },
    });
    let printed = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      printed = (printed + text).slice(-4000);
      print(text);
    });
    child.on('error', reject);
    child.on('close', (code, signal) => {
      if (signal !== null) reject(new Error(`a process of tests was ended by ${signal}`));
      if (code !== 0) process.exitCode = 1;
      resolve(countsIn(printed));
    });
  });
}

async function runShared(files: readonly string[]): Promise<Counts> {
  let held = '';
  let first = true;
  const shares = [0, 1].map((share) => files.filter((_, i) => i % 2 === share));
  const [one, two] = await Promise.all([
    runThere(shares[0] ?? [], (text) => process.stdout.write(text)).then((counts) => {
      process.stdout.write(held);
      first = false;
      return counts;
    }),
    runThere(shares[1] ?? [], (text) => {
      if (first) held += text;
      else process.stdout.write(text);
    }),
  ]);
  return {
    total: one.total + two.total,
    passed: one.passed + two.passed,
    skipped: one.skipped + two.skipped,
  };
}

const [flag, ...rest] = process.argv.slice(2);
if (flag === '--files') {
  await runHere(rest);
  // What a failed test has left open must not keep the run from ending.
  process.exit();
} else {
  const wanted = flag === undefined ? [] : [flag, ...rest];
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts') && (wanted.length === 0 || wanted.some((part) => file.includes(part))))
    .sort();
  const shared = PROCESSES > 1 && files.length >= SHARED_FILES;
  const { total, passed, skipped } = await (shared ? runShared(files) : runHere(files));
  if (!(total > 0)) {
    console.error('no test executed');
    process.exitCode = 1;
  }
  console.log(`${passed} passed, ${total - passed} failed, ${skipped} skipped`);
}
