import { InputError } from '../../input/input-error.ts';
import type { ByteRange, FilePages, PageJob, PageOutcome, PagesOptions } from '../../kernels/file-pages.ts';
import type { Kernels } from '../../kernels/kernels.ts';
import type { MappedFile } from '../../kernels/matrix.ts';
import type { Prefetch } from '../../plan/weights-policy.ts';
import type { RunRecorder } from '../../trace/run-recorder.ts';
import { totalBytes } from './byte-ranges.ts';
import { describeParts, type WeightsLayout, type WeightsPart } from './weights-layout.ts';

/** Ranges of the weights, with a name for traces. */
export interface WeightsRanges {
  readonly name: string;
  readonly ranges: readonly ByteRange[];
}

/** Records events of weights. */
export type WeightsRecorder = Pick<RunRecorder, 'span' | 'sample'>;

/**
 * How weights are prefetched: `willneed` asks the operating system in calls of 4 MiB; `willneed-whole` in one call for
 * the whole range, as prima.cpp's source does; `populate` reads and maps them.
 */
export type PrefetchCall = Exclude<Prefetch, 'none'>;

/** Jobs of the helper thread, one per range. */
export interface WeightsTask {
  /** Blocks until all jobs have ended or were cancelled. */
  wait(): readonly PageOutcome[];
  /** Whether all is done. */
  isDone(): boolean;
  /** Like `wait`, without blocking other events of the process. */
  settled(): Promise<void>;
  cancel(): void;
}

/**
 * The weights of a model in the page cache. Every call except `resident` queues a job for a helper thread and returns.
 * The thread runs releases first and keeps the order of the others; the trace records each job, its time and the bytes
 * that it read from disk.
 */
export interface MappedWeights {
  readonly layout: WeightsLayout;
  of(parts: readonly WeightsPart[]): WeightsRanges;
  /** Bytes in memory (mincore): 12 to 30 ms for a GiB. */
  resident(ranges: WeightsRanges): number;
  prefetch(ranges: WeightsRanges, how: PrefetchCall): WeightsTask;
  /** Releases memory: pages are unmapped and dropped from the page cache. */
  release(ranges: WeightsRanges): WeightsTask;
  /** Reads, maps and locks: `refused` if RLIMIT_MEMLOCK is too low, and then the pages are only mapped. */
  pin(ranges: WeightsRanges): WeightsTask;
  unpin(ranges: WeightsRanges): WeightsTask;
  /**
   * Sets whether page faults read ahead, as is the operating system's default; with explicit prefetching that would
   * read other windows.
   */
  readAhead(on: boolean): void;
  /** Records the jobs that have ended; every other call does so as well. */
  collect(): void;
  /** The file's pages, for counting what its threads read. */
  readonly pages: FilePages;
  close(): void;
}

/** Bytes before a range that a large folio may cover. */
const LOOK_BACK_BYTES = 2 ** 23;

interface Pending {
  readonly job: PageJob;
  readonly write: (outcome: PageOutcome) => void;
}

/** @throws InputError for kernels that don't map the file */
export function mappedWeights(
  kernels: Kernels,
  file: MappedFile,
  layout: WeightsLayout,
  recorder?: WeightsRecorder | undefined,
): MappedWeights {
  const pages = pagesOf(kernels, file);
  let pending: Pending[] = [];
  let lastReleased: ByteRange | undefined;

  const collect = (): void => {
    pending = pending.filter(({ job, write }) => {
      const outcome = job.poll();
      if (outcome !== undefined) write(outcome);
      return outcome === undefined;
    });
  };
  const task = (jobs: readonly PageJob[], write: Pending['write']): WeightsTask => {
    collect();
    for (const job of jobs) pending.push({ job, write });
    return {
      wait() {
        const outcomes = jobs.map((job) => job.wait());
        collect();
        return outcomes;
      },
      isDone: () => jobs.every((job) => job.poll() !== undefined),
      async settled() {
        for (const job of jobs) {
          await job.settled();
          job.wait();
        }
      },
      cancel() {
        for (const job of jobs) job.cancel();
      },
    };
  };
  const reading = (what: string, call: string) => {
    return ({ start, end, bytes, cancelled }: PageOutcome): void => {
      const args = { bytes, what, call, ...(cancelled ? { cancelled: 'true' } : {}) };
      recorder?.span({ lane: 'disk', cause: 'disk', name: 'prefetch', start, end, args });
    };
  };
  const working = (name: string, released: number) => {
    return ({ start, end }: PageOutcome): void =>
      recorder?.span({ lane: 'cpu', cause: 'overhead', name, start, end, args: { released } });
  };

  return {
    layout,
    of: (parts) => ({ name: describeParts(parts), ranges: parts.flatMap((part) => layout.ranges(part)) }),
    resident: ({ ranges }) => ranges.reduce((sum, range) => sum + pages.resident(range), 0),
    prefetch: ({ name, ranges }, how) =>
      task(
        ranges.map((range) => pages.start(how, range)),
        reading(name, how),
      ),
    release({ name, ranges }) {
      // The last range is submitted first, since each drop precedes earlier jobs, including other drops.
      const jobs = ranges.toReversed().map((range) => {
        const follows = ranges.findLast(({ to }) => to <= range.from) ?? lastReleased;
        const gap = follows === undefined ? Number.POSITIVE_INFINITY : range.from - follows.to;
        const near = follows !== undefined && gap >= 0 && gap < LOOK_BACK_BYTES;
        return pages.start('drop', range, near ? Math.min(LOOK_BACK_BYTES, range.from - follows.from) : 0);
      });
      lastReleased = ranges.at(-1);
      return task(jobs, working(`releases ${name}`, totalBytes(ranges)));
    },
    pin: ({ name, ranges }) =>
      task(
        ranges.flatMap((range) => [pages.start('populate', range), pages.start('lock', range)]),
        reading(name, 'pin'),
      ),
    unpin: ({ name, ranges }) =>
      task(
        ranges.map((range) => pages.start('unlock', range)),
        working(`unpins ${name}`, 0),
      ),
    readAhead: (on) => pages.readAhead(on),
    collect,
    pages,
    close: () => pages.close(),
  };
}

/** @throws InputError for kernels that don't map the file */
export function pagesOf(kernels: Kernels, file: MappedFile, options?: PagesOptions): FilePages {
  const pages = kernels.pages(file, options);
  if (pages !== undefined) return pages;
  throw new InputError(
    'weights',
    `the ${kernels.name} kernels hold all weights in memory of their own; native kernels are needed to stream them`,
  );
}
