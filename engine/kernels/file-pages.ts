/** From byte `from` of a file up to, not including, `to`. */
export interface ByteRange {
  readonly from: number;
  readonly to: number;
}

/**
 * Action of a job on the pages of a range: `willneed` asks the operating system to read them, in calls of 4 MiB;
 * `willneed-whole` does so in one call, of which Linux reads no more than the first 4 to 16 MiB; `populate` reads and
 * maps them; `drop` releases them; `lock` reads them and keeps them in memory until `unlock`.
 */
export type PageJobKind = 'willneed' | 'willneed-whole' | 'populate' | 'drop' | 'lock' | 'unlock';

/** Times and bytes of a job that has ended. */
export interface PageOutcome {
  /** When the job began and ended: seconds on the clock of performance.now(). */
  readonly start: number;
  readonly end: number;
  /** Bytes that came from the disk: fewer than the range has if some were in memory. */
  readonly bytes: number;
  readonly cancelled: boolean;
  /**
   * Whether the operating system refused to lock so much memory (RLIMIT_MEMLOCK); the rest of the range is unlocked.
   */
  readonly refused: boolean;
}

/** A job that the operating system works on in the background. */
export interface PageJob {
  /** Blocks until the job has ended. May be called again. @throws Error if the operating system failed */
  wait(): PageOutcome;
  /** The outcome, or undefined while the job hasn't ended. @throws as `wait` does */
  poll(): PageOutcome | undefined;
  /** Resolves once the job has ended or the pages are closed; doesn't block other events of the process. */
  settled(): Promise<void>;
  /** Ends the job after its current piece. */
  cancel(): void;
}

/** Memory that a file's bytes can be read into; it occupies none until then. */
export interface PageBuffer {
  readonly id: number;
  readonly bytes: Uint8Array;
}

/** A part of a buffer that takes this many bytes of a range. */
export interface ReadTarget {
  readonly buffer: PageBuffer;
  readonly offset: number;
  readonly bytes: number;
}

/** How pages of a file are read. */
export interface PagesOptions {
  /** Jobs that are done at once. Default: one. */
  readonly threads?: number;
  /** Whether `read` goes through the page cache, without reading ahead. Default: past it. */
  readonly cached?: boolean;
}

/**
 * The pages of a mapped file, and threads that each do a job on them at a time, in pieces of 4 MiB; `drop` jobs go
 * first. Callers block only in `wait`.
 */
export interface FilePages {
  /** Bytes of the range that are in memory. */
  resident(range: ByteRange): number;
  /** Sets whether page faults read ahead (the default) or read only the missing page. */
  readAhead(on: boolean): void;
  /**
   * @param lookBack for `drop`: bytes before the range that are dropped again, in case large folios kept them in memory
   * @throws Error if the range isn't within the file
   */
  start(kind: PageJobKind, range: ByteRange, lookBack?: number): PageJob;
  /** @throws InputError if there isn't enough memory */
  buffer(bytes: number): PageBuffer;
  /**
   * Reads a range in one go into some targets, which take its bytes one after the other and as many as it has. Where the
   * range lies in its pages of READ_ALIGNMENT bytes as its places in memory do, each but the first from a whole page on,
   * nothing is copied but its ends.
   */
  read(range: ByteRange, targets: readonly ReadTarget[]): PageJob;
  /**
   * Bytes that the threads have caused to be read from disk so far; undefined if the operating system doesn't count them.
   */
  readBytes(): number | undefined;
  /** Ends the threads after their current pieces and frees buffers; neither these nor jobs must be used afterwards. */
  close(): void;
}

/** Bytes of a page, which are whole blocks of every disk. */
export const READ_ALIGNMENT = 4096;
