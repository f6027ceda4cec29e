import { closeSync, fsyncSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { formatBytes } from '../../input/format.ts';
import { InputError } from '../../input/input-error.ts';
import { randomStream } from '../../input/random-stream.ts';

/** Four times the last-level cache of large desktop processors; half a second on a fast disk. */
export const WEIGHTS_FILE_BYTES = 512 * 2 ** 20;

/** Bytes per write. */
const PIECE_BYTES = 16 * 2 ** 20;

/**
 * Bytes that make reasonable weights in every format: any two of them are a number between 2⁻⁵ and 2⁻³ in F16 and a
 * small one in F32 and BF16, so that scales are neither infinite nor denormal.
 */
const LOWEST_BYTE = 0x28;
const HIGHEST_BYTE = 0x2f;

/**
 * Creates a file of random weights, calls `use`, and removes the file in any case.
 * @param path a path that doesn't exist yet, on the disk to be measured
 * @throws InputError if the path exists or the file can't be written
 */
export async function withWeightsFile<T>(path: string, seed: number, use: () => T | Promise<T>): Promise<T> {
  const room = freeBytes(path);
  if (room < 2 * WEIGHTS_FILE_BYTES)
    throw new InputError(
      path,
      `needs ${formatBytes(2 * WEIGHTS_FILE_BYTES)} of free disk space; ${formatBytes(room)} are free`,
    );
  const file = create(path);
  try {
    try {
      write(file, seed);
    } finally {
      closeSync(file);
    }
    return await use();
  } finally {
    rmSync(path, { force: true });
  }
}

function create(path: string): number {
  try {
    return openSync(path, 'wx', 0o600);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const reason =
      code === 'EEXIST' ? 'exists already; give the path of a file that can be created and removed' : message;
    throw new InputError(path, reason);
  }
}

function freeBytes(path: string): number {
  try {
    const { bavail, bsize } = statfsSync(dirname(path));
    return bavail * bsize;
  } catch (error) {
    throw new InputError(path, (error as Error).message);
  }
}

function write(file: number, seed: number): void {
  const { next } = randomStream(seed, 'weights');
  const piece = new Uint8Array(PIECE_BYTES);
  for (let index = 0; index < piece.length; index++) {
    piece[index] = LOWEST_BYTE + Math.floor((HIGHEST_BYTE - LOWEST_BYTE + 1) * next());
  }
  for (let done = 0; done < WEIGHTS_FILE_BYTES; done += PIECE_BYTES) {
    for (let at = 0; at < piece.length; ) at += writeSync(file, piece, at);
    // Makes every piece different, for disks that deduplicate.
    for (let index = 0; index < piece.length; index += 509) piece[index] = LOWEST_BYTE + Math.floor(8 * next());
  }
  fsyncSync(file);
}
