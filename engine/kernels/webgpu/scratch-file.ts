import { read, readSync, writeSync } from 'node:fs';
import { InputError } from '../../input/input-error.ts';
import { namelessFile } from '../nameless-file.ts';
import type { ScratchFile } from './cache-memory.ts';

const bytesOf = ({ buffer, byteOffset, byteLength }: Uint32Array): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);

/** A file in `folder` for pieces of `bytes` each. @throws InputError if it can't be created */
export function scratchFile(folder: string, bytes: number): ScratchFile {
  const { descriptor, close } = namelessFile(folder);
  const passing = new Uint8Array(bytes);
  const whole = (what: string, place: number, transfer: (offset: number, at: number) => number): void => {
    try {
      for (let done = 0; done < bytes; ) {
        const count = transfer(done, place * bytes + done);
        if (count === 0) throw new Error(`${what} ended at ${done} of ${bytes} bytes`);
        done += count;
      }
    } catch (error) {
      const problem = `${(error as Error).message}; give another folder for the KV cache, or more memory`;
      throw new InputError(folder, problem);
    }
  };
  return {
    write: (place, data) =>
      whole('writing', place, (offset, at) => writeSync(descriptor, bytesOf(data), offset, bytes - offset, at)),
    // Another thread reads it into the operating system's memory; what went wrong shows when it is read for use.
    prefetch: (place) => read(descriptor, passing, 0, bytes, place * bytes, () => {}),
    read: (place, data) =>
      whole('reading', place, (offset, at) => readSync(descriptor, bytesOf(data), offset, bytes - offset, at)),
    close,
  };
}
