import { createBudget } from './budget.ts';
import { type ByteRange, createExtentGrid } from './byte-range.ts';
import { createAgelessHistory, createHistory } from './history.ts';
import { type PagePolicy, policyParameters } from './policies.ts';
import { createReclaimer } from './reclaim.ts';
import type { Reader, Stream } from './reclaimer.ts';
import type { Run } from './runs.ts';
import { addSpan, firstEndingAfter, removeSpan, type Span, splitBySet } from './spans.ts';
import { createCacheState, type PageCacheCounters, residentBytes } from './state.ts';

export interface PageCacheOptions {
  /** Of the mapped file, bytes. */
  readonly size: number;
  /** Bytes of it that are ever used, and so take page tables; by default all. */
  readonly used?: number;
  /** Memory there is for it, bytes; may be infinite. */
  readonly limit: number;
  readonly policy: PagePolicy;
  /** Granularity, a whole number of bytes; by default DEFAULT_EXTENT_BYTES. */
  readonly extentBytes?: number;
  /** Seconds, for what a kernel does by the clock; without it, it does so at every operation. */
  readonly now?: () => number;
}

/** Calibrated: the granularity at which strict LRU fitted measurements on Linux 6.18 best. */
export const DEFAULT_EXTENT_BYTES = 4 * 2 ** 20;

export type Residency = 'resident' | 'reading' | 'missing';

/** A range whose bytes are all in memory, all being read, or all neither. */
export interface Segment extends ByteRange {
  readonly state: Residency;
}

/** Bytes now. */
export interface PageCacheUsage {
  readonly resident: number;
  /** The part of `resident` that is pinned. */
  readonly pinned: number;
  readonly reading: number;
  /** The limit less the policy's overhead, plus what other apps were swapped out for. */
  readonly capacity: number;
  /** Cold pages of other apps that went to swap (d^swapout, prima.cpp Eq. 17). */
  readonly swappedOut: number;
}

/**
 * The page cache of one device: which bytes of its mapped weights are resident, which must be read, what is dropped for
 * them. It knows no time: whoever simulates it takes a step, lets time pass, and takes the next.
 *
 * A computation asks for the `next` segment of what it needs, touches it if it is resident, waits if it is being read,
 * and else reads it (`startRead`, the disk's time, `finishRead`, `touch`). A prefetcher reads without touching.
 * A range that ends within an extent counts as the whole extent; only `finishRead` and `release` leave that one alone.
 * An operation takes time by the number of runs it meets, not by bytes.
 *
 * Methods throw RangeError for a range that isn't one, or that leaves the file by a byte or more.
 */
export interface PageCache {
  readonly size: number;
  readonly extentBytes: number;
  /**
   * The longest beginning of a range that is in one state; what sets off the kernel's next readahead is by itself. An empty
   * range has none: RangeError.
   */
  next(range: ByteRange): Segment;
  /**
   * As much of a missing segment as its reader may take at once without pushing out its own beginning, or what it has
   * read ahead before it gets there.
   */
  atOnce(missing: ByteRange, reader: Reader): ByteRange;
  /** Whether a page fault in a range sets off the kernel's next readahead. */
  readsAhead(range: ByteRange): boolean;
  /** Bytes that reclaim must look at, and spares, to make room for so many. */
  spared(bytes: number): number;
  /**
   * A computation uses what is resident of a range.
   * @returns bytes that were in memory in single pages (MADV_WILLNEED) and had to be mapped by page faults
   */
  touch(range: ByteRange): number;
  /**
   * Begins to read what is missing of a range, with the policy's readahead if the reader has one; of a range that is
   * there, only the readahead that is due by now. Room is made now; what is being read can't be dropped. What a
   * populating reader asks for and finds, or reads, is used.
   * @returns what the disk has to read now, whole extents, in order; each is to be finished by finishRead
   */
  startRead(range: ByteRange, reader: Reader): readonly ByteRange[];
  /**
   * What was being read in a range has arrived. Even where it exceeds the capacity it stays until the next operation, so
   * that whoever waited for it can touch it.
   */
  finishRead(range: ByteRange): void;
  /** Drops a range, except what is pinned or being read (MADV_DONTNEED with POSIX_FADV_DONTNEED). */
  release(range: ByteRange): void;
  /** From now on a range stays once it is resident. Pinning reads nothing. */
  pin(range: ByteRange): void;
  unpin(range: ByteRange): void;
  /** Changes the memory there is, and reclaims at once. */
  setLimit(limit: number): void;
  /** What is in memory, by position, in ranges as long as possible. */
  residentRanges(): ByteRange[];
  usage(): PageCacheUsage;
  counters(): PageCacheCounters;
}

/** No extent. */
const NOWHERE = -1;

/** @throws RangeError for sizes, limits or parameters of a policy that are negative or not numbers */
export function createPageCache(options: PageCacheOptions): PageCache {
  const { size, limit, policy, extentBytes = DEFAULT_EXTENT_BYTES } = options;
  if (!(size >= 0 && size < Number.POSITIVE_INFINITY)) throw new RangeError(`size is ${size}; give the file's bytes`);
  if (!(Number.isInteger(extentBytes) && extentBytes > 0))
    throw new RangeError(`extentBytes is ${extentBytes}; give a whole number of bytes, at least 1`);
  const parameters = policyParameters(policy);
  const grid = createExtentGrid(size, extentBytes);
  const keepsMarks = parameters.kind === 'linux-two-list';
  const state = createCacheState(size, extentBytes, keepsMarks ? createHistory() : createAgelessHistory());
  const budget = createBudget(limit, parameters.overhead * (options.used ?? size), parameters.swappable);
  const reclaimer = createReclaimer({ parameters, state, budget, now: options.now });
  const { runs, lists, history, counters } = state;
  /** Extents that stay once they are resident, whether they are or not. */
  const pinned: Span[] = [];

  /** The extent at whose use the kernel reads further ahead (PG_readahead), and where what it has read ahead ends. */
  let marker = NOWHERE;
  let aheadEnd = 0;
  const window = Math.floor(parameters.readAhead / extentBytes);
  const readsInWindows = parameters.readAround > 0 && window > 0;

  const isReading = ({ list }: Run): boolean => list === lists.reading;
  const isEvictable = ({ list }: Run): boolean => list !== lists.reading && list !== lists.pinned;
  const isPopulated = (run: Run): boolean => isEvictable(run) || (keepsMarks && isReading(run));
  const residencyOf = (run: Run): Residency => (isReading(run) ? 'reading' : 'resident');
  const runAt = (position: number): Run | undefined => runs.all[firstEndingAfter(runs.all, position)];

  /** Swaps other apps out, then drops, until what is charged fits again. */
  const settle = (): void => {
    const excess = budget.swapOut(reclaimer.charged() - budget.capacity());
    if (excess > 0) reclaimer.reclaim(excess);
  };

  const giveBack = (run: Run): number => state.drop(run, run.to - run.from, 'released');

  const missingSpans = ({ from, to }: Span): Span[] => {
    const missing: Span[] = [];
    for (let position = from; position < to; ) {
      const run = runAt(position);
      const start = Math.min(to, run?.from ?? to);
      if (position < start) missing.push({ from: position, to: start });
      position = run === undefined ? to : run.to;
    }
    return missing;
  };

  /** Where a read of a range ends: past it by the readahead's whole extents, or at the first that is there. */
  const endOfRead = ({ to }: ByteRange, span: Span): number => {
    const reach = grid.inward({ from: 0, to: Math.min(size, to + parameters.readAhead) }).to;
    return Math.max(span.to, Math.min(reach, runAt(span.to)?.from ?? reach));
  };

  const isMarked = ({ from, to }: Span): boolean => from <= marker && marker < to;

  /** What is to be read for a range: nothing for one that is there, unless it holds the readahead's mark. */
  const wantedFor = (range: ByteRange, span: Span, reader: Reader): { spans: readonly Span[]; stream: Stream } => {
    const missing = missingSpans(span);
    const stream = missing.length > 0 ? 'new' : 'on';
    if (reader === 'willneed' || (missing.length === 0 && !isMarked(span))) return { spans: missing, stream };
    if (readsInWindows) return { spans: readAroundOrAhead(missing[0]?.from, span), stream };
    const to = endOfRead(range, span);
    const spans = to === span.to ? missing : missingSpans({ from: span.from, to });
    mark(span.to, spans);
    return { spans, stream };
  };

  const mark = (extent: number, spans: readonly Span[]): void => {
    marker = spans.some(({ from, to }) => from <= extent && extent < to) ? extent : NOWHERE;
  };

  /**
   * mm/filemap.c, do_sync_mmap_readahead: a fault that finds nothing reads half the readahead before it and half behind,
   * and marks the beginning of the last quarter. mm/readahead.c, page_cache_async_ra: the use of the mark sets off as much
   * again, marked at its beginning.
   */
  const readAroundOrAhead = (missing: number | undefined, span: Span): readonly Span[] => {
    const around = Math.floor(parameters.readAround / extentBytes);
    const from = missing === undefined ? aheadEnd : Math.max(0, missing - around);
    const to = Math.min(state.extents, from + window);
    const spans = missingSpans({ from, to: missing === undefined ? to : Math.max(to, span.to) });
    mark(missing === undefined ? from : from + window - Math.max(1, window >> 2), spans);
    aheadEnd = to;
    return spans;
  };

  const read = (span: Span, reader: Reader, stream: Stream): void => {
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
      const run = runAt(from);
      const first = run !== undefined && run.from <= from ? run : undefined;
      let end = first === undefined ? Math.min(to, run?.from ?? to) : first.to;
      for (let follower = runAt(end); first !== undefined && end < to; follower = runAt(end)) {
        if (follower?.from !== end || isReading(follower) !== isReading(first)) break;
        end = follower.to;
      }
      if (first !== undefined && from <= marker && marker < end) end = Math.max(marker, from + 1);
      const { to: endByte } = grid.toBytes({ from, to: end });
      return {
        from: range.from,
        to: Math.min(range.to, endByte),
        state: first === undefined ? 'missing' : residencyOf(first),
      };
    },
    atOnce: ({ from, to }, reader) => {
      const most = readsInWindows && reader !== 'willneed' ? window >> 2 : Number.POSITIVE_INFINITY;
      const extents = Math.max(1, Math.min(most, reclaimer.atOnce() - window));
      return { from, to: Math.min(to, (Math.floor(from / extentBytes) + extents) * extentBytes) };
    },
    readsAhead: (range) => marker !== NOWHERE && isMarked(grid.outward(range)),
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
      const { spans, stream } = wantedFor(range, span, reader);
      spans.forEach((part, index) => {
        read(part, reader, index === 0 ? stream : 'broken');
      });
      settle();
      reclaimer.enter();
      if (reader === 'populate') runs.visit(span, isPopulated, reclaimer.populate);
      return spans.map(grid.toBytes);
    },
    finishRead: (range) => {
      const span = grid.inward(range);
      if (pinned.length === 0) {
        runs.visit(span, isReading, reclaimer.admit);
        return;
      }
      runs.visit(span, isReading, (run) => {
        for (const { from, to, inside } of splitBySet(pinned, run)) {
          runs.visit({ from, to }, isReading, inside ? (part) => runs.toNewest(part, lists.pinned) : reclaimer.admit);
        }
      });
    },
    release: (range) => {
      const span = grid.inward(range);
      runs.visit(span, isEvictable, giveBack);
      reclaimer.unmap(span);
      settle();
    },
    pin: (range) => {
      const span = grid.outward(range);
      addSpan(pinned, span);
      runs.visit(span, isEvictable, (run) => runs.toNewest(run, lists.pinned));
      settle();
    },
    unpin: (range) => {
      const span = grid.outward(range);
      const parts = splitBySet(pinned, span).filter(({ inside }) => inside);
      removeSpan(pinned, span);
      const move = (run: Run): void => runs.toNewest(run, lists.passing);
      for (const part of parts) runs.visit(part, ({ list }) => list === lists.pinned, move);
      for (const part of parts) runs.visit(part, ({ list }) => list === lists.passing, reclaimer.admit);
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
  };
}
