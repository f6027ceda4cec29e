import { addSpan, type ByteRange, createExtentGrid, type Span } from './extents.ts';
import { createAgelessHistory, createHistory } from './history.ts';
import { createPins } from './pins.ts';
import { type PagePolicy, policyParameters } from './policies.ts';
import { createReadahead } from './readahead.ts';
import { createReclaimer } from './reclaim.ts';
import type { Reader, Stream } from './reclaimer.ts';
import type { Run } from './runs.ts';
import { restoreLists, type SavedPages, saveLists } from './saved-pages.ts';
import { createBudget, createCacheState, type PageCacheCounters, residentBytes } from './state.ts';

export interface PageCacheOptions {
  /** Size of the mapped file, bytes. */
  readonly size: number;
  /** Bytes of the file that are ever used, and so take page tables; by default all. */
  readonly used?: number;
  /** Memory available for it, bytes; may be infinite. */
  readonly limit: number;
  readonly policy: PagePolicy;
  /** Granularity, a whole number of bytes; by default DEFAULT_EXTENT_BYTES. */
  readonly extentBytes?: number;
  /** The time, seconds, for what an operating system does by the clock; without it, that happens at every operation. */
  readonly now?: () => number;
  /** Its contents at the beginning, saved by a cache with the same options; nothing unless given. */
  readonly saved?: SavedPages | undefined;
}

/** Calibrated: the granularity at which strict LRU fitted measurements on Linux 6.18 best. */
export const DEFAULT_EXTENT_BYTES = 4 * 2 ** 20;

export type Residency = 'resident' | 'reading' | 'missing';

/** A range whose bytes are all in one state. */
export interface Segment extends ByteRange {
  readonly state: Residency;
}

/** Bytes at this moment. */
export interface PageCacheUsage {
  readonly resident: number;
  /** The part of `resident` that is pinned. */
  readonly pinned: number;
  readonly reading: number;
  /** The limit less the policy's overhead, plus what was swapped out. */
  readonly capacity: number;
  /** Cold pages of other apps that went to swap (d^swapout, prima.cpp Eq. 17). */
  readonly swappedOut: number;
}

/**
 * The page cache of one device: which bytes of its mapped weights are resident, which must be read, and what is evicted
 * for them. It has no notion of time: the caller takes a step, lets time pass, and takes the next.
 *
 * A computation asks for the `next` segment of what it needs, touches it if it is resident, waits if it is being read,
 * and otherwise reads it (`startRead`, the disk's time, `finishRead`, `touch`). A prefetcher reads without touching.
 * A range that ends within an extent counts as the whole extent; `finishRead` and `release` leave that extent alone.
 * An operation costs time by the number of runs that it meets, not by bytes.
 *
 * Methods throw RangeError for an invalid range, or one that leaves the file by a byte or more.
 */
export interface PageCache {
  readonly size: number;
  readonly extentBytes: number;
  /**
   * The longest beginning of a range that is in one state. The extent that triggers the next readahead begins a segment
   * of its own. @throws RangeError for an empty range
   */
  next(range: ByteRange): Segment;
  /**
   * As much of a missing segment as its reader may read at once without evicting its own beginning, or what it has read
   * ahead before it gets there.
   */
  atOnce(missing: ByteRange, reader: Reader): ByteRange;
  /** Whether a page fault in a range triggers the next readahead. */
  readsAhead(range: ByteRange): boolean;
  /** Bytes that reclaim has to look at, and spares, to make room for this many. */
  spared(bytes: number): number;
  /**
   * A computation uses the resident part of a range.
   * @returns bytes that were in memory in single pages (MADV_WILLNEED) and had to be mapped by page faults
   */
  touch(range: ByteRange): number;
  /**
   * Begins to read the missing part of a range, with the policy's readahead if the reader triggers it; for a resident
   * range, only the readahead that is due by now. Room is made at once; what is being read can't be evicted. What a
   * populating reader finds or reads counts as used.
   * @returns what the disk has to read now, whole extents, in order; the caller ends each with `finishRead`
   */
  startRead(range: ByteRange, reader: Reader): readonly ByteRange[];
  /**
   * The pages that were being read in a range have arrived. Even if they exceed the capacity they stay until the next operation, so
   * that their waiters can touch them.
   */
  finishRead(range: ByteRange): void;
  /** Drops a range, except what is pinned or being read (MADV_DONTNEED and POSIX_FADV_DONTNEED). */
  release(range: ByteRange): void;
  /** From now on a range stays once it is resident. Pinning reads nothing. */
  pin(range: ByteRange): void;
  unpin(range: ByteRange): void;
  /** Changes the available memory, and reclaims at once. */
  setLimit(limit: number): void;
  /** The parts that are in memory, by position, in the longest possible ranges. */
  residentRanges(): ByteRange[];
  usage(): PageCacheUsage;
  counters(): PageCacheCounters;
  /**
   * The state from which another cache goes on; `undefined` while something is being read, and under
   * `linux-two-list` and `mglru`, which keep marks and go by the clock.
   */
  save(): SavedPages | undefined;
}

/** @throws RangeError for sizes, limits or parameters of a policy that are negative or not numbers */
export function createPageCache(options: PageCacheOptions): PageCache {
  const { size, limit, policy, extentBytes = DEFAULT_EXTENT_BYTES, saved } = options;
  if (!(size >= 0 && size < Number.POSITIVE_INFINITY)) throw new RangeError(`size is ${size}; give the file’s bytes`);
  if (!(Number.isInteger(extentBytes) && extentBytes > 0))
    throw new RangeError(`extentBytes is ${extentBytes}; give a whole number of bytes, at least 1`);
  const parameters = policyParameters(policy);
  const grid = createExtentGrid(size, extentBytes);
  const { kind } = parameters;
  const keepsMarks = kind === 'linux-two-list' || kind === 'mglru';
  const state = createCacheState(
    size,
    extentBytes,
    kind === 'linux-two-list' ? createHistory() : createAgelessHistory(),
  );
  const overhead = parameters.overhead * (options.used ?? size);
  const budget = createBudget(limit, overhead, parameters.swappable, saved?.swappedOut);
  const reclaimer = createReclaimer({ parameters, state, budget, now: options.now });
  const { runs, lists, history, counters } = state;
  const readahead = createReadahead({ size, extentBytes, grid, runs, parameters, marked: saved?.marker });
  const pins = createPins(state, reclaimer);
  if (saved !== undefined) restoreLists(state, saved);

  const isReading = ({ list }: Run): boolean => list === lists.reading;
  const isEvictable = ({ list }: Run): boolean => list !== lists.reading && list !== lists.pinned;
  const isPopulated = (run: Run): boolean => isEvictable(run) || (keepsMarks && isReading(run));
  const release = (run: Run): number => state.drop(run, run.to - run.from, 'released');

  /** Swaps other apps out, then evicts, until what is charged fits again. */
  const settle = (): void => {
    const excess = budget.swapOut(reclaimer.charged() - budget.capacity());
    if (excess > 0) reclaimer.reclaim(excess);
  };

  const beginRead = (span: Span, reader: Reader, stream: Stream): void => {
    reclaimer.begin(span, reader, stream);
    counters.read += state.bytesOf(span.from, span.to);
    const { reclaimed, dropped } = history.count(span, state.bytesOf);
    counters.reloaded += dropped;
    counters.refaulted += reclaimed;
    history.forget(span);
  };

  return {
    size,
    extentBytes,
    next: (range) => {
      const { from, to } = grid.outward(range);
      if (from === to) throw new RangeError(`bytes ${range.from} to ${range.to} are none; ask for a range with bytes`);
      const run = runs.at(from);
      if (run === undefined || run.from > from) {
        const end = Math.min(to, run?.from ?? to);
        return { from: range.from, to: Math.min(range.to, grid.toBytes({ from, to: end }).to), state: 'missing' };
      }
      const wanted = isReading(run);
      let end = run.to;
      for (let follower = runs.at(end); end < to; follower = runs.at(end)) {
        if (follower?.from !== end || isReading(follower) !== wanted) break;
        end = follower.to;
      }
      end = readahead.cutAtMarker(from, end);
      const { to: endByte } = grid.toBytes({ from, to: end });
      return { from: range.from, to: Math.min(range.to, endByte), state: wanted ? 'reading' : 'resident' };
    },
    atOnce: ({ from, to }, reader) => {
      const extents = Math.max(1, Math.min(readahead.mostAtOnce(reader), reclaimer.atOnce() - readahead.window));
      return { from, to: Math.min(to, (Math.floor(from / extentBytes) + extents) * extentBytes) };
    },
    readsAhead: (range) => readahead.hasMarker() && readahead.isMarked(grid.outward(range)),
    spared: (bytes) => {
      const excess = reclaimer.charged() + bytes - budget.capacity();
      return excess > 0 ? reclaimer.spared(excess) : 0;
    },
    touch: (range) => {
      const before = state.mapped;
      runs.visit(grid.outward(range), isEvictable, reclaimer.touch);
      settle();
      return state.mapped - before;
    },
    startRead: (range, reader) => {
      const span = grid.outward(range);
      const { spans, stream } = readahead.wantedFor(range, span, reader);
      spans.forEach((part, index) => {
        beginRead(part, reader, index === 0 ? stream : 'broken');
      });
      settle();
      reclaimer.enter();
      if (reader === 'populate') runs.visit(span, isPopulated, reclaimer.populate);
      return spans.map(grid.toBytes);
    },
    finishRead: (range) => pins.admit(grid.inward(range)),
    release: (range) => {
      const span = grid.inward(range);
      runs.visit(span, isEvictable, release);
      reclaimer.unmap(span);
      settle();
    },
    pin: (range) => {
      pins.pin(grid.outward(range));
      settle();
    },
    unpin: (range) => {
      pins.unpin(grid.outward(range));
      settle();
    },
    setLimit: (bytes) => {
      budget.setLimit(bytes);
      settle();
    },
    residentRanges: () => {
      const resident: Span[] = [];
      for (const run of runs.all) if (!isReading(run)) addSpan(resident, run);
      return resident.map(grid.toBytes);
    },
    usage: () => ({
      resident: residentBytes(state),
      pinned: lists.pinned.bytes,
      reading: lists.reading.bytes,
      capacity: budget.capacity(),
      swappedOut: budget.swappedOut(),
    }),
    counters: () => ({ ...counters }),
    save: () => {
      if (keepsMarks || lists.reading.bytes > 0) return undefined;
      return { ...saveLists(state), marker: readahead.marker(), swappedOut: budget.swappedOut() };
    },
  };
}
