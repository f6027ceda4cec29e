import type { Effect, Steps } from '../kernel/effect.ts';
import { createOneShot, type OneShot } from '../kernel/one-shot.ts';
import type { Simulation } from '../kernel/simulation.ts';
import type { Access, Disk } from './disk.ts';
import type { PageCache } from './page-cache.ts';
import type { ByteRange } from './page-cache-range.ts';
import type { Reader } from './page-cache-reclaimer.ts';

/** A read of the disk that has come to its end. */
export interface FinishedRead {
  readonly reader: Reader;
  readonly bytes: number;
  readonly start: number;
  readonly end: number;
}

/** What a page cache has begun to read, and the disk brings: at once, or one after the other in the background. */
export interface ReadsUnderWay {
  /** Reads a range, and waits for it. */
  read(range: ByteRange, reader: Reader, access: Access): Steps;
  /** Reads a range after those that were submitted before, and asks the disk for it now; nobody waits. */
  submit(range: ByteRange, reader: Reader, access: Access): void;
  /** Until the read that brings a byte has ended. */
  arrivalOf(byte: number): Effect<void>;
  /** Until the first of the submitted reads has ended; undefined if there are none. */
  nextArrival(): Effect<void> | undefined;
}

interface Read {
  readonly range: ByteRange;
  readonly reader: Reader;
  readonly moved: Effect<void>;
  readonly arrived: OneShot<void>;
}

export function createReadsUnderWay(
  simulation: Simulation,
  cache: PageCache,
  disk: Disk,
  onRead: (read: FinishedRead) => void,
): ReadsUnderWay {
  const all: Read[] = [];
  const submitted: Read[] = [];

  const expect = (range: ByteRange, reader: Reader, access: Access): Read => {
    const arrived = createOneShot<void>(() => `bytes ${range.from} to ${range.to} from "${disk.name}"`);
    const read = { range, reader, moved: disk.read(range.to - range.from, access), arrived };
    all.push(read);
    return read;
  };

  function* fetch(read: Read): Steps {
    const { range, reader, moved, arrived } = read;
    const start = simulation.now;
    const bytes = range.to - range.from;
    yield moved;
    cache.finishRead(range);
    all.splice(all.indexOf(read), 1);
    onRead({ reader, bytes, start, end: simulation.now });
    arrived.succeed();
  }

  function* fetchSubmitted(): Steps {
    for (let read = submitted[0]; read !== undefined; read = submitted[0]) {
      yield* fetch(read);
      submitted.shift();
    }
  }

  return {
    read: (range, reader, access) => fetch(expect(range, reader, access)),
    submit: (range, reader, access) => {
      submitted.push(expect(range, reader, access));
      if (submitted.length === 1) simulation.spawn(`reads submitted to ${disk.name}`, fetchSubmitted());
    },
    arrivalOf: (byte) => {
      const read = all.find(({ range }) => range.from <= byte && byte < range.to);
      if (read === undefined) throw new Error(`byte ${byte} is being read by nobody`);
      return read.arrived.wait();
    },
    nextArrival: () => submitted[0]?.arrived.wait(),
  };
}
