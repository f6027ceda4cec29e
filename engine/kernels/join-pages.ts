import type { Part } from '../gguf/file-parts.ts';
import type { ByteRange, FilePages, PageJob, PageOutcome, ReadTarget } from './file-pages.ts';

/** The pages of a file that is a part of a model. Buffers of the first part's are known to all. */
export interface PartPages extends Part {
  readonly pages: FilePages;
}

/** The pages of several files as those of one (engine/gguf/file-parts.ts); jobs are done by each for its own part. */
export function joinPages(parts: readonly PartPages[]): FilePages {
  const [first] = parts as readonly [PartPages, ...PartPages[]];
  if (parts.length === 1) return first.pages;
  /** The pieces of a range by part, each with the byte of the range at which it begins. */
  const pieces = ({ from, to }: ByteRange) =>
    parts.flatMap((part) => {
      const [begin, end] = [Math.max(from, part.from), Math.min(to, part.from + part.size)];
      const range = { from: begin - part.from, to: end - part.from };
      return begin < end ? [{ pages: part.pages, range, at: begin - from }] : [];
    });
  return {
    resident: (range) => pieces(range).reduce((sum, piece) => sum + piece.pages.resident(piece.range), 0),
    readAhead(on) {
      for (const { pages } of parts) pages.readAhead(on);
    },
    start: (kind, range, lookBack = 0) =>
      joinJobs(
        pieces(range).map((piece) =>
          piece.pages.start(kind, piece.range, piece.at === 0 ? Math.min(lookBack, piece.range.from) : 0),
        ),
      ),
    buffer: (bytes) => first.pages.buffer(bytes),
    read: (range, targets) =>
      joinJobs(
        pieces(range).map(({ pages, range: own, at }) => pages.read(own, partOf(targets, at, at + own.to - own.from))),
      ),
    readBytes() {
      const counts = parts.map(({ pages }) => pages.readBytes());
      return counts.some((count) => count === undefined)
        ? undefined
        : counts.reduce<number>((sum, count) => sum + (count ?? 0), 0);
    },
    close() {
      for (const { pages } of parts) pages.close();
    },
  };
}

/** The parts of targets that take the bytes of a range from one to, not including, another. */
function partOf(targets: readonly ReadTarget[], from: number, to: number): ReadTarget[] {
  let end = 0;
  return targets.flatMap(({ buffer, offset, bytes }) => {
    const begin = end;
    end += bytes;
    const [low, high] = [Math.max(begin, from), Math.min(end, to)];
    return low < high ? [{ buffer, offset: offset + low - begin, bytes: high - low }] : [];
  });
}

function joinJobs(jobs: readonly PageJob[]): PageJob {
  const [only] = jobs;
  if (only === undefined) throw new RangeError('a job on bytes that are in no part');
  if (jobs.length === 1) return only;
  return {
    wait: () => joinOutcomes(jobs.map((job) => job.wait())),
    poll() {
      const outcomes = jobs.flatMap((job) => job.poll() ?? []);
      return outcomes.length === jobs.length ? joinOutcomes(outcomes) : undefined;
    },
    async settled() {
      for (const job of jobs) await job.settled();
    },
    cancel() {
      for (const job of jobs) job.cancel();
    },
  };
}

function joinOutcomes(outcomes: readonly PageOutcome[]): PageOutcome {
  return {
    start: Math.min(...outcomes.map(({ start }) => start)),
    end: Math.max(...outcomes.map(({ end }) => end)),
    bytes: outcomes.reduce((sum, { bytes }) => sum + bytes, 0),
    cancelled: outcomes.some(({ cancelled }) => cancelled),
    refused: outcomes.some(({ refused }) => refused),
  };
}
