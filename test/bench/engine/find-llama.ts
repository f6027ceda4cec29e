import { execFile } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** Hearth is compared with this package's prebuilt llama.cpp; other versions give other results. */
export const NODE_LLAMA = 'node-llama-cpp';
export const NODE_LLAMA_VERSION = '3.22.1';

/** Folder in which benches keep what they download. */
export const BENCH_CACHE = join(import.meta.dirname, '../../../node_modules/.cache/hearth-bench');

/**
 * The folder of node-llama-cpp, which is installed once, with its binaries, next to the project's own packages (some 700
 * MB). Only this benchmark uses it.
 * @returns the folder, or the reason why there is none
 */
export async function findLlama(): Promise<{ readonly folder: string } | { readonly reason: string }> {
  const folder = join(BENCH_CACHE, 'node_modules', NODE_LLAMA);
  if (existsSync(join(folder, 'dist/index.js'))) return { folder };
  process.stderr.write(`installing ${NODE_LLAMA} ${NODE_LLAMA_VERSION} to ${BENCH_CACHE}\n`);
  mkdirSync(BENCH_CACHE, { recursive: true });
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefix', BENCH_CACHE];
  try {
    await promisify(execFile)('npm', ['install', `${NODE_LLAMA}@${NODE_LLAMA_VERSION}`, ...options]);
    return { folder };
  } catch (error) {
    const { stderr, message } = error as { stderr?: string; message: string };
    return { reason: (stderr?.trim() || message).split('\n').slice(-1).join() };
  }
}
