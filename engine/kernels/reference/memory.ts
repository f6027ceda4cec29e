import { readSync } from 'node:fs';

/** The contents of the reference kernels' matrices and caches, by id. */
export interface ReferenceMemory {
  readonly matrices: { readonly bytes: Uint8Array; readonly rowBytes: number }[];
  /** Values as the cache's format would hold them: rounded to half precision for F16. */
  readonly caches: { readonly keys: Float32Array; readonly values: Float32Array }[];
}

/** Node reads at most 2 GiB at a time. */
const LARGEST_READ = 2 ** 30;

/** Reads a part of an open file. @throws Error if the file ends earlier */
export function readBytes(file: number, offset: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let done = 0; done < length; ) {
    const read = readSync(file, bytes, done, Math.min(LARGEST_READ, length - done), offset + done);
    if (read === 0) throw new Error(`the file ends at byte ${offset + done}`);
    done += read;
  }
  return bytes;
}
