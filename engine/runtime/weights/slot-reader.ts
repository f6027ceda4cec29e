import type { ByteRange, FilePages, PageBuffer, PageJob } from '../../kernels/file-pages.ts';
import { READ_ALIGNMENT } from '../../kernels/file-pages.ts';
import type { RunRecorder } from '../../trace/run-recorder.ts';

/** Bytes of a file that go to a place in memory. */
export interface WantedBytes {
  readonly range: ByteRange;
  readonly to: Uint8Array;
}

/** Reads bytes of a file, of any alignment, without the page cache. */
export interface SlotReader {
  /** Blocks until all of them are in their places. @param what for a trace */
  read(wanted: readonly WantedBytes[], what: string): void;
}

/** Reads that are under way while others are copied: the thread that reads is never idle. */
const AHEAD = 4;

/** Memory that a reader needs for ranges of up to so many bytes. */
export function stagingBytes(largest: number): number {
  return AHEAD * stagedBytes(largest);
}

/** Whole pages around a range lie in a staging buffer, from which its bytes are copied. */
export function createSlotReader(
  pages: Pick<FilePages, 'buffer' | 'read'>,
  { fileBytes, largest, recorder }: { fileBytes: number; largest: number; recorder?: RunRecorder | undefined },
): SlotReader {
  const size = stagedBytes(largest);
  const staging: PageBuffer = pages.buffer(AHEAD * size);
  const start = ({ range: { from, to } }: WantedBytes, place: number): PageJob => {
    const first = from - (from % READ_ALIGNMENT);
    const end = Math.min(fileBytes, Math.ceil(to / READ_ALIGNMENT) * READ_ALIGNMENT);
    return pages.read({ from: first, to: end }, staging, place * size);
  };
  return {
    read(wanted, what) {
      const asked = performance.now() / 1000;
      const jobs: PageJob[] = wanted.slice(0, AHEAD).map(start);
      for (const [index, one] of wanted.entries()) {
        const { start: begun, end, bytes } = (jobs[index] as PageJob).wait();
        recorder?.span({ lane: 'disk', cause: 'disk', name: 'prefetch', start: begun, end, args: { bytes, what } });
        const place = index % AHEAD;
        const from = place * size + (one.range.from % READ_ALIGNMENT);
        one.to.set(staging.bytes.subarray(from, from + one.to.length));
        const next = wanted[index + AHEAD];
        if (next !== undefined) jobs.push(start(next, place));
      }
      const span = { lane: 'cpu', cause: 'disk', name: `waits for ${what}`, args: {} } as const;
      if (wanted.length > 0) recorder?.span({ ...span, start: asked, end: performance.now() / 1000 });
    },
  };
}

function stagedBytes(largest: number): number {
  return (Math.ceil(largest / READ_ALIGNMENT) + 1) * READ_ALIGNMENT;
}
