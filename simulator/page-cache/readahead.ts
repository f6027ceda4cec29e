import type { ByteRange, ExtentGrid, Span } from './extents.ts';
import type { PolicyParameters } from './policies.ts';
import type { Reader, Stream } from './reclaimer.ts';
import type { RunMap } from './runs.ts';

/** The reads that a reader causes in the operating system. */
export interface WantedRead {
  /** Missing extents, in order. */
  readonly spans: readonly Span[];
  readonly stream: Stream;
}

/**
 * How far the operating system reads ahead of a reader. Somewhere in what it reads ahead lies a marker (PG_readahead):
 * the use of the marked extent makes it read further.
 */
export interface Readahead {
  /** Extents of one window of readahead. */
  readonly window: number;
  /** Most extents that a reader may ask for at once, so that it meets the marker on its way. */
  mostAtOnce(reader: Reader): number;
  /** The part that is to be read for a range: nothing for a range that is in memory, unless it holds the marker. */
  wantedFor(range: ByteRange, span: Span, reader: Reader): WantedRead;
  /** Whether any extent is marked. */
  hasMarker(): boolean;
  /** The marked extent, or NOWHERE. */
  marker(): number;
  isMarked(span: Span): boolean;
  /** The place at which a segment from `from` to `end` has to be cut so that the marked extent begins a segment of its own. */
  cutAtMarker(from: number, end: number): number;
}

export interface ReadaheadParts {
  readonly size: number;
  readonly extentBytes: number;
  readonly grid: ExtentGrid;
  readonly runs: Pick<RunMap, 'at' | 'missing'>;
  readonly parameters: Pick<PolicyParameters, 'readAhead' | 'readAround'>;
  /** The extent that is marked at the beginning; NOWHERE unless given. */
  readonly marked?: number | undefined;
}

/** No extent. */
export const NOWHERE = -1;

/**
 * Readahead in one of two ways. With a `readAround`, in windows, as Linux does on an ordinary mapping: a fault that
 * finds nothing reads half the window before it and half behind, and marks the beginning of the last quarter
 * (mm/filemap.c, do_sync_mmap_readahead); the use of the marker reads another window, marked at its beginning
 * (mm/readahead.c, page_cache_async_ra). Without one, every read goes on for `readAhead` bytes past its end.
 */
export function createReadahead({
  size,
  extentBytes,
  grid,
  runs,
  parameters,
  marked = NOWHERE,
}: ReadaheadParts): Readahead {
  const { readAhead, readAround } = parameters;
  const window = Math.floor(readAhead / extentBytes);
  const around = Math.floor(readAround / extentBytes);
  const extents = Math.ceil(size / extentBytes);
  const readsInWindows = readAround > 0 && window > 0;
  let marker = marked;
  /** The end of the last window. */
  let aheadEnd = 0;

  const isMarked = ({ from, to }: Span): boolean => from <= marker && marker < to;

  const mark = (extent: number, spans: readonly Span[]): void => {
    marker = spans.some(({ from, to }) => from <= extent && extent < to) ? extent : NOWHERE;
  };

  /** Around the first missing extent; with none missing, the window after the last. */
  const readWindow = (missing: number | undefined, span: Span): readonly Span[] => {
    const from = missing === undefined ? aheadEnd : Math.max(0, missing - around);
    const to = Math.min(extents, from + window);
    const spans = runs.missing({ from, to: missing === undefined ? to : Math.max(to, span.to) });
    mark(missing === undefined ? from : from + window - Math.max(1, window >> 2), spans);
    aheadEnd = to;
    return spans;
  };

  /**
   * The end of a read without windows: past the range by whole extents of readahead, or at the first that is in memory.
   */
  const endOfRead = ({ to }: ByteRange, span: Span): number => {
    const reach = grid.inward({ from: 0, to: Math.min(size, to + readAhead) }).to;
    return Math.max(span.to, Math.min(reach, runs.at(span.to)?.from ?? reach));
  };

  return {
    window,
    mostAtOnce: (reader) => (readsInWindows && reader !== 'willneed' ? window >> 2 : Number.POSITIVE_INFINITY),
    wantedFor: (range, span, reader) => {
      const missing = runs.missing(span);
      const stream = missing.length > 0 ? 'new' : 'on';
      if (reader === 'willneed' || (missing.length === 0 && !isMarked(span))) return { spans: missing, stream };
      if (readsInWindows) return { spans: readWindow(missing[0]?.from, span), stream };
      const to = endOfRead(range, span);
      const spans = to === span.to ? missing : runs.missing({ from: span.from, to });
      mark(span.to, spans);
      return { spans, stream };
    },
    hasMarker: () => marker !== NOWHERE,
    marker: () => marker,
    isMarked,
    cutAtMarker: (from, end) => (from <= marker && marker < end ? Math.max(marker, from + 1) : end),
  };
}
