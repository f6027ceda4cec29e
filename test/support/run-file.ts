import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/**
 * Runs test files in a process: the parent (test/run.ts) sends paths below test/ one at a time and gets a FileResult
 * for each.
 */
export interface FileResult {
  readonly file: string;
  readonly total: number;
  readonly passed: number;
  readonly skipped: number;
  readonly seconds: number;
  /** Output of uvu and the tests. */
  readonly printed: string;
}

/** uvu's global state: the name and suites of each file. */
const uvu = globalThis as { UVU_DEFER?: number; UVU_INDEX?: number; UVU_QUEUE?: unknown[][] };
uvu.UVU_DEFER = 1;
const { exec } = await import('uvu');
const SUMMARY = /\n {2}Total: +(\d+)\s+Passed: +(\d+)\s+Skipped: +(\d+)\s+Duration: .*\s*$/;
const write = process.stdout.write.bind(process.stdout);
let printed = '';
process.stdout.write = ((chunk: string | Uint8Array) => {
  printed += String(chunk);
  return true;
}) as typeof process.stdout.write;
process.on('exit', () => write(printed));

async function runFile(file: string): Promise<FileResult> {
  const start = performance.now();
  uvu.UVU_QUEUE = [[file]];
  uvu.UVU_INDEX = 0;
  let failure = '';
  try {
    await import(pathToFileURL(join(import.meta.dirname, '..', file)).href);
    await exec();
  } catch (error) {
    failure = `${file}\n${error instanceof Error ? error.stack : error}\n`;
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with a control character
  const counts = SUMMARY.exec(printed.replace(/\x1b\[\d+m/g, ''));
  // A test that fails while another of its runs captures stdout takes the summary with it.
  if (counts === null && failure === '') failure = `${file}\nits tests ended without a summary\n`;
  const [total, passed, skipped] = [1, 2, 3].map((group) => Number(counts?.[group] ?? 0)) as [number, number, number];
  const text = `\n${printed.slice(0, Math.max(0, printed.lastIndexOf('\n  Total: ')))}${failure}`;
  printed = '';
  const seconds = (performance.now() - start) / 1000;
  return { file, total: failure === '' ? total : total + 1, passed, skipped, seconds, printed: text };
}

process.on('message', (file: string) => {
  runFile(file).then((result) => process.send?.(result));
});
process.on('disconnect', () => process.exit());
