import { InputError } from '../../input/input-error.ts';
import type { CacheFile, CacheJob, CacheOutcome } from '../cache-file.ts';
import type { NativeCacheFile, NativeCacheOutcome } from './addon.ts';

/** @param open makes the file. @throws InputError where that can't be done */
export function cacheFile(folder: string, open: () => NativeCacheFile): CacheFile {
  const native = opened(folder, open);
  // Both clocks run alike, from different beginnings.
  const offset = performance.now() / 1000 - native.now();
  const outcomeOf = ({ start, end, error }: NativeCacheOutcome): CacheOutcome => {
    if (error !== '') throw new InputError(folder, `${error}; give another folder for the KV cache, or more memory`);
    return { start: start + offset, end: end + offset };
  };
  const jobOf = (number: number): CacheJob => {
    let found: NativeCacheOutcome | undefined;
    return {
      wait() {
        found ??= native.wait(number);
        return outcomeOf(found);
      },
      poll() {
        found ??= native.poll(number);
        return found && outcomeOf(found);
      },
    };
  };
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
