import { readSync } from 'node:fs';

/** Node reads at most 2 GiB at a time. */
const LARGEST_READ = 2 ** 30;

/** @throws Error where the file ends before */
export function readBytes(file: number, offset: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let done = 0; done < length; ) {
    const read = readSync(file, bytes, done, Math.min(LARGEST_READ, length - done), offset + done);
    if (read === 0) throw new Error(`the file ends at byte ${offset + done}`);
    done += read;
  }
  return bytes;
}
