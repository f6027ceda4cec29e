import { writeSync } from 'node:fs';
import { loadAddon } from './addon.ts';

/** Diversions that have not ended; they overlap where devices of one process open their GPUs together. */
let open = 0;
let restore: () => void = () => {};

/**
 * Runs `work` while what libraries write to stderr goes to a file, at its end. What this process writes to
 * `process.stderr` still goes there. Nothing is diverted without the addon, or where the file can't be written.
 */
export async function withDivertedErrors<Result>(
  file: string | undefined,
  work: () => Promise<Result>,
): Promise<Result> {
  open += 1;
  if (open === 1) restore = file === undefined ? () => {} : divert(file);
  try {
    return await work();
  } finally {
    open -= 1;
    if (open === 0) restore();
  }
}

function divert(file: string): () => void {
  const addon = loadAddon();
  if (typeof addon === 'string') return () => {};
  let saved: number;
  try {
    saved = addon.divertStandardError(file);
  } catch {
    return () => {};
  }
  const restoreErrors = (): void => addon.restoreStandardError(saved);
  // A replaced `write` doesn't use the descriptor.
  if (Object.hasOwn(process.stderr, 'write')) return restoreErrors;
  process.stderr.write = (text: string | Uint8Array, ...rest: readonly unknown[]): boolean => {
    writeSync(saved, typeof text === 'string' ? Buffer.from(text) : text);
    const written = rest.at(-1);
    if (typeof written === 'function') written();
    return true;
  };
  return () => {
    Reflect.deleteProperty(process.stderr, 'write');
    restoreErrors();
  };
}
