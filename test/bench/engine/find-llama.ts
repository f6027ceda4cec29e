import { execFile } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** Hearth is compared with this package's prebuilt llama.cpp; other versions give other results. */
export const NODE_LLAMA = 'node-llama-cpp';
const VERSION = '3.22.1';

const FOLDER = join(import.meta.dirname, '../../../node_modules/.cache/hearth-bench');

/**
 * The folder of node-llama-cpp, which is installed once, with its binaries, beside the project's own packages (some 700
 * MB). Only this benchmark uses it.
 * @returns the folder, or the reason why there is none
 */
export async function findLlama(): Promise<{ readonly folder: string } | { readonly reason: string }> {
  const folder = join(FOLDER, 'node_modules', NODE_LLAMA);
  if (existsSync(join(folder, 'dist/index.js'))) return { folder };
  process.stderr.write(`installing ${NODE_LLAMA} ${VERSION} to ${FOLDER}\n`);
  mkdirSync(FOLDER, { recursive: true });
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefix', FOLDER];
  try {
    await promisify(execFile)('npm', ['install', `${NODE_LLAMA}@${VERSION}`, ...options]);
    return { folder };
  } catch (error) {
    const { stderr, message } = error as { stderr?: string; message: string };
    return { reason: (stderr?.trim() || message).split('\n').slice(-1).join() };
  }
}
