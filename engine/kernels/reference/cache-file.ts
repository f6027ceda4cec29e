import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { InputError } from '../../input/input-error.ts';
import type { CacheFile, CacheJob } from '../cache-file.ts';
import type { KeyValueCache } from '../key-value-cache.ts';
import type { ReferenceState } from './reference-state.ts';

type Transfer = (file: number, floats: Float32Array, offset: number, bytes: number, position: number) => number;

/** Every job is done when it is asked for. */
export function cacheFile(state: ReferenceState, folder: string): CacheFile {
  const file = openWithoutName(folder);
  const move = (transfer: Transfer, { id }: KeyValueCache, place: number): CacheJob => {
    const start = performance.now() / 1000;
    const { keys, values } = state.caches[id] as ReferenceState['caches'][number];
    for (const [part, floats] of [keys, values].entries()) {
      transfer(file, floats, 0, floats.byteLength, (2 * place + part) * floats.byteLength);
    }
    const outcome = { start, end: performance.now() / 1000 };
    return { wait: () => outcome, poll: () => outcome };
  };
  let open = true;
  return {
    write: (cache, place) => move(writeSync, cache, place),
    read: (cache, place) => move(readSync, cache, place),
    close() {
      if (open) closeSync(file);
      open = false;
    },
  };
}

function openWithoutName(folder: string): number {
  try {
    const own = mkdtempSync(join(folder, 'hearth-kv-'));
    const file = openSync(join(own, 'pages'), 'w+');
    rmSync(own, { recursive: true });
    return file;
  } catch (error) {
    throw new InputError(folder, (error as Error).message);
  }
}
