import { readSync, writeSync } from 'node:fs';
import type { CacheFile, CacheJob, KeyValueCache } from '../key-value-cache.ts';
import { namelessFile } from '../nameless-file.ts';
import type { ReferenceMemory } from './memory.ts';

type Transfer = (file: number, floats: Float32Array, offset: number, bytes: number, position: number) => number;

/** A cache file whose jobs are done, synchronously, when they are submitted. */
export function cacheFile(memory: ReferenceMemory, folder: string): CacheFile {
  const { descriptor: file, close } = namelessFile(folder);
  const perform = (transfer: Transfer, { id }: KeyValueCache, place: number): CacheJob => {
    const start = performance.now() / 1000;
    const { keys, values } = memory.caches[id] as ReferenceMemory['caches'][number];
    for (const [part, floats] of [keys, values].entries()) {
      transfer(file, floats, 0, floats.byteLength, (2 * place + part) * floats.byteLength);
    }
    const outcome = { start, end: performance.now() / 1000 };
    return { wait: () => outcome, poll: () => outcome };
  };
  return {
    write: (cache, place) => perform(writeSync, cache, place),
    read: (cache, place) => perform(readSync, cache, place),
    close,
  };
}
