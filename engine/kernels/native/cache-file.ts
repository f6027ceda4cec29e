import { InputError } from '../../input/input-error.ts';
import type { CacheFile } from '../key-value-cache.ts';
import type { NativeCacheFile } from './addon.ts';
import { jobsOf } from './jobs.ts';

/** @param open makes the file. @throws InputError if that fails */
export function cacheFile(folder: string, open: () => NativeCacheFile): CacheFile {
  const native = opened(folder, open);
  const failure = (error: string): Error =>
    new InputError(folder, `${error}; give another folder for the KV cache, or more memory`);
  const jobOf = jobsOf(native, failure);
  return {
    write: ({ id }, place) => jobOf(native.submit(true, id, place)),
    read: ({ id }, place) => jobOf(native.submit(false, id, place)),
    close: () => native.close(),
  };
}

function opened(folder: string, open: () => NativeCacheFile): NativeCacheFile {
  try {
    return open();
  } catch (error) {
    throw new InputError(folder, (error as Error).message);
  }
}
