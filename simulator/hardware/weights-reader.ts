import { type Activity, createActivity } from '../event-loop/activity.ts';
import { type Effect, hold, type Steps } from '../event-loop/effect.ts';
import { createOneShot, type OneShot } from '../event-loop/one-shot.ts';
import type { Simulation } from '../event-loop/simulation.ts';
import type { ByteRange } from '../page-cache/extents.ts';
import { HUGE_PAGE_BYTES } from '../page-cache/folios.ts';
import type { PageCache, Segment } from '../page-cache/page-cache.ts';
import type { Access, Faults } from '../page-cache/policies.ts';
import type { Reader } from '../page-cache/reclaimer.ts';
import type { Disk } from './disk.ts';

/** Totals of reading weights. */
export interface ReadingTotals {
  /** Seconds by which computations took longer because they waited for the disk, or mapped what it had brought. */
  stallSeconds: number;
  /** Bytes read for page faults. */
  faultedBytes: number;
  prefetchedBytes: number;
}

export interface WeightsReaderParts {
  readonly simulation: Simulation;
  readonly cache: PageCache;
  readonly disk: Disk;
  readonly faults: Faults;
  /** Largest read of a prefetcher at once, bytes. */
  readonly chunkBytes: number;
  /** No prefetching takes place: page faults have the disk and the memory to themselves. */
  readonly faultsOnly: boolean;
  /** Called after every read of the disk. */
  readonly onRead: (read: FinishedRead) => void;
}

/**
 * A device's weights between disk and memory. Computations reach them by `pageFaults`, and the prefetching thread by
 * `prefetch`; both read through here.
 */
export interface WeightsReader extends Omit<WeightsReaderParts, 'disk' | 'onRead'> {
  readonly totals: ReadingTotals;
  readonly reads: DiskReads;
  /** Activity that goes on whether or not anyone waits for it: reads in the background, and windows to prefetch. */
  readonly background: Activity;
  /** Reclaim takes time to look at used pages. */
  readonly reclaimTakesTime: boolean;
}

export function createWeightsReader(parts: WeightsReaderParts): WeightsReader {
  const { simulation, cache, disk, faults, chunkBytes, faultsOnly, onRead } = parts;
  const totals: ReadingTotals = { stallSeconds: 0, faultedBytes: 0, prefetchedBytes: 0 };
  const background = createActivity(`reads in the background from ${disk.name}`);
  const reads = createDiskReads({ simulation, cache, disk, background }, (finished) => {
    if (finished.reader === 'demand') totals.faultedBytes += finished.bytes;
    else totals.prefetchedBytes += finished.bytes;
    onRead(finished);
  });
  const reclaimTakesTime = faults.osRates.spared < Number.POSITIVE_INFINITY;
  return { simulation, cache, faults, chunkBytes, faultsOnly, totals, reads, background, reclaimTakesTime };
}

/**
 * Reads a range and waits for it. What the operating system reads ahead comes afterwards, a huge page at a time, and
 * nobody waits for it.
 */
export function* readAndWait({ cache, reads, faults }: WeightsReader, range: ByteRange, reader: Reader): Steps {
  const access = reader === 'demand' ? faults.access : 'sequential';
  const end = endOfExtent(cache, range.to);
  const requested: DiskRead[] = [];
  const ahead: DiskRead[] = [];
  for (const { from, to } of cache.startRead(range, reader)) {
    if (from < end) requested.push(reads.begin({ from, to: Math.min(to, end) }, reader, access));
    for (let at = Math.max(from, end); at < to; ) {
      const next = Math.min(to, endOfExtent(cache, at + HUGE_PAGE_BYTES));
      ahead.push(reads.begin({ from: at, to: next }, reader, access));
      at = next;
    }
  }
  for (const read of requested) {
    yield read.moved;
    reads.end(read);
  }
  for (const read of ahead) reads.submit(read);
}

/** First segment of a range, after reclaim has looked at used pages to make room for what reading it brings. */
export function* nextSegment(weights: WeightsReader, range: ByteRange): Steps<Segment> {
  const { cache, faults } = weights;
  const found = cache.next(range);
  const reads = found.state === 'missing' || cache.readsAhead(found);
  const seconds = reads ? sparingSeconds(weights, faults.readAhead) : 0;
  if (seconds === 0) return found;
  yield hold(seconds);
  return cache.next(range);
}

/** Seconds for which reclaim looks at used pages before it finds room for this many bytes. */
export function sparingSeconds({ cache, faults, reclaimTakesTime }: WeightsReader, bytes: number): number {
  return reclaimTakesTime ? cache.spared(bytes) / faults.osRates.spared : 0;
}

export function endOfExtent({ extentBytes }: PageCache, position: number): number {
  return Math.ceil(position / extentBytes) * extentBytes;
}

/** A read of the disk that has ended. */
export interface FinishedRead {
  readonly reader: Reader;
  readonly bytes: number;
  readonly start: number;
  readonly end: number;
}

/** A read of the disk under way. */
export interface DiskRead {
  readonly range: ByteRange;
  readonly reader: Reader;
  /** When the disk turned to it, seconds. */
  start: number;
  /** Waits until the disk has moved the bytes. */
  readonly moved: Effect<void>;
  /** Created for the first waiter, since most reads are waited for by their requester only. */
  arrived: OneShot<void> | undefined;
}

/** Reads under way: the page cache has begun them, and the disk does them at once or one by one in the background. */
export interface DiskReads {
  /** Requests a range from the disk. The caller waits until it has `moved` and then calls `end`, or submits it. */
  begin(range: ByteRange, reader: Reader, access: Access): DiskRead;
  end(read: DiskRead): void;
  /** Ends a read in the background, after those that were submitted before. */
  submit(read: DiskRead): void;
  /** Waits until the read that brings a byte has ended. */
  arrivalOf(byte: number): Effect<void>;
  /** Waits until the first of the submitted reads has ended; `undefined` if there are none. */
  nextArrival(): Effect<void> | undefined;
}

interface DiskReadsParts extends Pick<WeightsReaderParts, 'simulation' | 'cache' | 'disk'> {
  readonly background: Activity;
}

export function createDiskReads(
  { simulation, cache, disk, background }: DiskReadsParts,
  onRead: (read: FinishedRead) => void,
): DiskReads {
  const all: DiskRead[] = [];
  const submitted: DiskRead[] = [];

  const begin = (range: ByteRange, reader: Reader, access: Access): DiskRead => {
    const moved = disk.read(range.to - range.from, access);
    const read = { range, reader, start: simulation.now, moved, arrived: undefined };
    all.push(read);
    return read;
  };

  const end = (read: DiskRead): void => {
    const { range, reader, start, arrived } = read;
    cache.finishRead(range);
    const last = all.pop() as DiskRead;
    if (last !== read) all[all.indexOf(read)] = last;
    onRead({ reader, bytes: range.to - range.from, start, end: simulation.now });
    arrived?.succeed();
  };

  const arrival = (read: DiskRead): Effect<void> => {
    const { from, to } = read.range;
    read.arrived ??= createOneShot<void>(() => `bytes ${from} to ${to} from "${disk.name}"`);
    return read.arrived.wait();
  };

  return {
    begin,
    end,
    submit: (read) => {
      submitted.push(read);
      background.begin();
      if (submitted.length > 1) return;
      const done = (read: DiskRead): void => {
        end(read);
        submitted.shift();
        background.end();
      };
      simulation.spawn(`reads submitted to ${disk.name}`, fetchSubmitted(simulation, submitted, done));
    },
    arrivalOf: (byte) => {
      const read = all.find(({ range }) => range.from <= byte && byte < range.to);
      if (read === undefined) throw new Error(`byte ${byte} is not being read`);
      return arrival(read);
    },
    nextArrival: () => submitted[0] && arrival(submitted[0]),
  };
}

/** Reads what is submitted, one after the other, until `done` leaves nothing. A function of its own: see CarriedNetwork. */
function* fetchSubmitted(simulation: Simulation, submitted: DiskRead[], done: (read: DiskRead) => void): Steps {
  for (let read = submitted[0]; read !== undefined; read = submitted[0]) {
    read.start = simulation.now;
    yield read.moved;
    done(read);
  }
}
