/** From byte `from` of a file up to, not including, `to`. */
export interface ByteRange {
  readonly from: number;
  readonly to: number;
}

/**
 * What a helper thread does with the pages of a range: `willneed` (the system is asked to read them), `willneed-whole`
 * (in one call, of which Linux does no more than the first 4 to 16 MiB), `populate` (they are read and mapped), `drop`
 * (given back), `lock` (read, and kept in memory), `unlock`.
 */
export type PageJobKind = 'willneed' | 'willneed-whole' | 'populate' | 'drop' | 'lock' | 'unlock';

export interface PageOutcome {
  /** When the helper thread began it and when it was done: seconds, on the clock of performance.now(). */
  readonly start: number;
  readonly end: number;
  /** Bytes that came from the disk: less than the range has where some were in memory. */
  readonly bytes: number;
  readonly cancelled: boolean;
  /** The system doesn't let this process lock so much (RLIMIT_MEMLOCK); what follows was left as it is. */
  readonly refused: boolean;
}

export interface PageJob {
  /** Blocks until it is done, or given up. Its outcome may be asked for again. @throws Error where the system failed */
  wait(): PageOutcome;
  /** Its outcome; undefined where it isn't done. @throws as `wait` does */
  poll(): PageOutcome | undefined;
  /** Until it is done, or given up; other events of the process have their turn meanwhile. */
  settled(): Promise<void>;
  /** It ends after the megabytes that are being done. */
  cancel(): void;
}

/** Memory that a file's bytes can be read into; it takes no room before. */
export interface PageBuffer {
  readonly id: number;
  readonly bytes: Uint8Array;
}

/**
 * The pages of a mapped file, and a helper thread that does jobs on them: one after another in pieces of 4 MiB, `drop`
 * before all others. Nobody waits for it unless he asks to.
 */
export interface FilePages {
  /** Bytes of the range that are in memory. */
  resident(range: ByteRange): number;
  /** Whether page faults read ahead, as they do at first, or just the page that is missing. */
  readAhead(on: boolean): void;
  /**
   * @param lookBack of `drop`: bytes before the range that are tried again, for what large folios had kept there
   * @throws Error for a part that the file doesn't have
   */
  start(kind: PageJobKind, range: ByteRange, lookBack?: number): PageJob;
  /** @throws InputError where there is no memory for it */
  buffer(bytes: number): PageBuffer;
  /**
   * Reads a range past the page cache. Ends (but that of the file) and offset are multiples of READ_ALIGNMENT, and the
   * buffer has room for whole ones.
   */
  read(range: ByteRange, buffer: PageBuffer, offset: number): PageJob;
  /** Bytes that the helper thread has made the disk read by now; undefined on systems that don't count. */
  readBytes(): number | undefined;
  /** Ends the thread, after the piece that it is at; jobs must not be asked afterwards. */
  close(): void;
}

/** Bytes: a page, which is a block of every disk. */
export const READ_ALIGNMENT = 4096;
