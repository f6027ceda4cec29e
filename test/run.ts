import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { FileResult } from './support/run-file.ts';

/**
 * Runs every test file below test/ with uvu, or those whose path contains one of the arguments; processes take files
 * from one list until it is empty, and one more process those that mostly wait. Prints each file's output, the files
 * that took longest, what failed once more and `N passed, N failed, N skipped`. A run without an executed test fails,
 * and so does a file that ends its process or takes longer than MOST_SECONDS.
 */
const PROCESSES = Math.min(2, availableParallelism());
const MOST_SECONDS = 600;
const ENDING_SECONDS = 60;
/**
 * Files that time a thread to the millisecond, which others on the same core make slower: they run after all others,
 * each in a process of its own.
 */
const TIMED: readonly string[] = ['kernels/webgpu/unhurried-wait.test.ts', 'server/stalls.test.ts'];
/** Folders whose files use what the first of them makes, such as the site of lessons: one process takes them all. */
const TOGETHER: readonly string[] = ['notebooks/'];
/**
 * Files that mostly wait: for servers, schedulers and workers that they start, limits of connections, and disks that are
 * held to a speed. A process of its own runs them from the beginning, in this order, concurrently with the others, in the time of
 * the processors that those leave.
 */
const WAITING: readonly string[] = [
  'experiments/sweep/',
  ...['faults', 'floods', 'hangs', 'raw-peers', 'refusals', 'wire/connection'].map((name) => `ring/${name}`),
  ...['fuzz/campaign', 'experiments/lab.test'],
];
/** Files whose time is printed at the end. */
const SLOWEST = 10;

const wanted = process.argv.slice(2);
const files = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.test.ts') && (wanted.length === 0 || wanted.some((part) => file.includes(part))))
  .sort();
const results: FileResult[] = [];

/** Runs the files that `next` returns in one process, which is replaced if it is lost. */
async function work(next: () => string | undefined): Promise<void> {
  let child: ChildProcess | undefined;
  for (let file = next(); file !== undefined; file = next()) {
    child ??= fork(join(import.meta.dirname, 'support/run-file.ts'), {
      env: { ...process.env, FORCE_COLOR: process.stdout.isTTY ? '1' : '0' },
    });
    const result = await runIn(child, file);
    if (child.exitCode !== null || child.signalCode !== null || child.killed) child = undefined;
    process.stdout.write(result.printed);
    results.push(result);
  }
  if (child !== undefined) await end(child);
}

/** Waits for a process to end, which frees the memory of many files and may look for leaks first. */
async function end(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit');
  const timer = setTimeout(() => child.kill('SIGKILL'), 1000 * ENDING_SECONDS);
  child.disconnect();
  await ended;
  clearTimeout(timer);
}

function runIn(child: ChildProcess, file: string): Promise<FileResult> {
  const start = performance.now();
  return new Promise((resolve) => {
    const fail = (reason: string): void => {
      const seconds = (performance.now() - start) / 1000;
      finish({ file, total: 1, passed: 0, skipped: 0, seconds, printed: `\n${file}\n${reason}\n` });
    };
    const onExit = (code: number | null, signal: string | null): void =>
      fail(`the process of this file ended with ${signal ?? `code ${code}`}`);
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      fail(`not finished after ${MOST_SECONDS} s`);
    }, MOST_SECONDS * 1000);
    const finish = (result: FileResult): void => {
      clearTimeout(timer);
      child.off('message', finish).off('exit', onExit);
      resolve(result);
    };
    child.on('message', finish).on('exit', onExit);
    child.send(file);
  });
}

const left: string[][] = [];
const waiting = WAITING.flatMap((part) => files.filter((file) => file.startsWith(part)).map((file) => [file]));
for (const file of files.filter((one) => !TIMED.includes(one) && !WAITING.some((part) => one.startsWith(part)))) {
  const last = left.at(-1);
  if (TOGETHER.some((folder) => file.startsWith(folder) && last?.[0]?.startsWith(folder))) last?.push(file);
  else left.push([file]);
}
/** The next file of one process, from the first list that has any. */
function filesInTurn(...lists: string[][][]): () => string | undefined {
  let own: string[] = [];
  return () => {
    if (own.length === 0) own = lists.find((list) => list.length > 0)?.shift() ?? [];
    return own.shift();
  };
}
await Promise.all([
  ...Array.from({ length: PROCESSES }, () => work(filesInTurn(left, waiting))),
  work(filesInTurn(waiting)),
]);
for (const file of files.filter((one) => TIMED.includes(one))) {
  const alone = [file];
  await work(() => alone.shift());
}

const sum = (key: 'total' | 'passed' | 'skipped'): number => results.reduce((total, one) => total + one[key], 0);
const slowest = results.toSorted((a, b) => b.seconds - a.seconds).slice(0, SLOWEST);
if (results.length > 1) {
  console.log('\nlongest files, s');
  for (const { file, seconds } of slowest) console.log(`${seconds.toFixed(1).padStart(7)}  ${file}`);
  console.log('');
}
const [total, passed] = [sum('total'), sum('passed')];
const failed = results.filter((one) => one.passed < one.total);
if (failed.length > 0) console.log(`files that failed\n${failed.map((one) => one.printed).join('')}`);
if (total === 0) console.error('no test executed');
process.exitCode = total > 0 && passed === total ? 0 : 1;
console.log(`${passed} passed, ${total - passed} failed, ${sum('skipped')} skipped`);
