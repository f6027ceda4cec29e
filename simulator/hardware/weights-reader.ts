import type { Steps } from '../kernel/effect.ts';
import { createOneShot, type OneShot } from '../kernel/one-shot.ts';
import type { Rate } from '../kernel/rate.ts';
import type { Simulation } from '../kernel/simulation.ts';
import type { PageCache } from './page-cache.ts';
import type { ByteRange } from './page-cache-range.ts';
import type { Reader } from './page-cache-reclaimer.ts';

/** What reading weights took. */
export interface ReadingTotals {
  /** Seconds that computations waited for the disk. */
  stallSeconds: number;
  /** Bytes read for page faults, and by prefetching. */
  faultedBytes: number;
  prefetchedBytes: number;
}

/** A device's weights between disk and memory: page faults of its computations, and prefetching beside them. */
export interface WeightsReader {
  readonly totals: Readonly<ReadingTotals>;
  /** A computation needs a range: it waits for what is being read, reads what is missing, and uses all of it. */
  need(range: ByteRange): Steps;
  /** Reads what is missing of a range, chunk by chunk, without waiting for what others read. */
  prefetch(range: ByteRange, reader: 'willneed' | 'populate'): Steps;
}

export interface WeightsReaderParts {
  readonly simulation: Simulation;
  readonly cache: PageCache;
  readonly disk: Rate;
  /** Largest read of a prefetcher at once, bytes. */
  readonly chunkBytes: number;
  /** Told of every read of the disk. */
  readonly onRead: (read: { reader: Reader; bytes: number; start: number; end: number }) => void;
}

export function createWeightsReader({
  simulation,
  cache,
  disk,
  chunkBytes,
  onRead,
}: WeightsReaderParts): WeightsReader {
  const totals: ReadingTotals = { stallSeconds: 0, faultedBytes: 0, prefetchedBytes: 0 };
  /** Reads under way. */
  const arrivals: { readonly range: ByteRange; readonly arrived: OneShot<void> }[] = [];

  function* read(range: ByteRange, reader: Reader): Steps {
    for (const part of cache.startRead(range, reader).reads) {
      const arrival = { range: part, arrived: createOneShot(`bytes ${part.from} to ${part.to} from "${disk.name}"`) };
      arrivals.push(arrival);
      const start = simulation.now;
      const bytes = part.to - part.from;
      yield disk.transfer(bytes);
      cache.finishRead(part);
      arrivals.splice(arrivals.indexOf(arrival), 1);
      if (reader === 'demand') totals.faultedBytes += bytes;
      else totals.prefetchedBytes += bytes;
      onRead({ reader, bytes, start, end: simulation.now });
      arrival.arrived.succeed();
    }
  }

  return {
    totals,
    *need(range) {
      for (let from = range.from; from < range.to; ) {
        const segment = cache.next({ from, to: range.to });
        const start = simulation.now;
        if (segment.state === 'resident') {
          cache.touch(segment);
          from = segment.to;
          continue;
        }
        if (segment.state === 'missing') {
          // What is read is used at once: it may not stay until it could be looked up again.
          const chunk = cache.atOnce(segment);
          yield* read(chunk, 'demand');
          cache.touch(chunk);
          from = Math.min(range.to, chunk.to);
        } else {
          yield arrivals.find((one) => one.range.from <= from && from < one.range.to)?.arrived.wait() ?? lost(from);
        }
        totals.stallSeconds += simulation.now - start;
      }
    },
    *prefetch(range, reader) {
      for (let from = range.from; from < range.to; ) {
        const segment = cache.next({ from, to: range.to });
        const fits = segment.state === 'missing' ? cache.atOnce(segment) : segment;
        const chunk = { from, to: segment.state === 'missing' ? Math.min(fits.to, from + chunkBytes) : fits.to };
        if (segment.state === 'missing' || reader === 'populate') yield* read(chunk, reader);
        from = chunk.to;
      }
    },
  };
}

function lost(from: number): never {
  throw new Error(`byte ${from} is being read by nobody`);
}
