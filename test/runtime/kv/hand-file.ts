import type { CacheFile, CacheJob, KeyValueCache } from '../../../engine/kernels/key-value-cache.ts';

export interface HandFile extends CacheFile {
  /** Requests in order: `write 3` for place 3, then `waited 3` where a caller blocked on it. */
  readonly log: string[];
  /** Ends the job at a place. */
  end(place: number): void;
}

/** A file whose jobs end when a test says so; a caller that waits for one ends it. It holds no contents. */
export function createHandFile(): HandFile {
  const log: string[] = [];
  const ended = new Set<number>();
  const job = (place: number): CacheJob => {
    const outcome = { start: place, end: place + 1 };
    ended.delete(place);
    return {
      poll: () => (ended.has(place) ? outcome : undefined),
      wait() {
        if (!ended.has(place)) log.push(`waited ${place}`);
        ended.add(place);
        return outcome;
      },
    };
  };
  return {
    log,
    end: (place) => ended.add(place),
    write(_, place) {
      log.push(`write ${place}`);
      return job(place);
    },
    read(_, place) {
      log.push(`read ${place}`);
      return job(place);
    },
    close() {},
  };
}

/** Caches that are told apart by their ids, 0 to `count` − 1. */
export function namedCaches(count: number): KeyValueCache[] {
  return Array.from({ length: count }, (_, id) => ({ id, type: 'F32', kvHeads: 1, headSize: 1, capacity: 1 }));
}
