import type { Effect, Steps } from '../event-loop/effect.ts';
import { createOneShot, type OneShot } from '../event-loop/one-shot.ts';
import type { Simulation } from '../event-loop/simulation.ts';
import type { ByteRange } from '../page-cache/extents.ts';
import type { PageCache } from '../page-cache/page-cache.ts';
import type { Reader } from '../page-cache/reclaimer.ts';
import type { Access, Disk } from './disk.ts';

/** A read of the disk that has come to its end. */
export interface FinishedRead {
  readonly reader: Reader;
  readonly bytes: number;
  readonly start: number;
  readonly end: number;
}

/** A read of the disk under way. */
export interface Read {
  readonly range: ByteRange;
  readonly reader: Reader;
  /** When it was its turn, seconds. */
  start: number;
  /** The disk has done its part. */
  readonly moved: Effect<void>;
  /** Made for the first who waits: most reads are awaited by nobody else. */
  arrived: OneShot<void> | undefined;
}

/** What a page cache has begun to read, and the disk brings: at once, or one after the other in the background. */
export interface ReadsUnderWay {
  /** Asks the disk for a range. Whoever does so waits until it has `moved`, then calls `end`, or submits it. */
  begin(range: ByteRange, reader: Reader, access: Access): Read;
  end(read: Read): void;
  /** It comes after those that were submitted before; nobody waits. */
  submit(read: Read): void;
  /** Until the read that brings a byte has ended. */
  arrivalOf(byte: number): Effect<void>;
  /** Until the first of the submitted reads has ended; undefined if there are none. */
  nextArrival(): Effect<void> | undefined;
}

export function createReadsUnderWay(
  simulation: Simulation,
  cache: PageCache,
  disk: Disk,
  onRead: (read: FinishedRead) => void,
): ReadsUnderWay {
  const all: Read[] = [];
  const submitted: Read[] = [];

  const begin = (range: ByteRange, reader: Reader, access: Access): Read => {
    const moved = disk.read(range.to - range.from, access);
    const read = { range, reader, start: simulation.now, moved, arrived: undefined };
    all.push(read);
    return read;
  };

  const end = (read: Read): void => {
    const { range, reader, start, arrived } = read;
    cache.finishRead(range);
    const last = all.pop() as Read;
    if (last !== read) all[all.indexOf(read)] = last;
    onRead({ reader, bytes: range.to - range.from, start, end: simulation.now });
    arrived?.succeed();
  };

  const arrival = (read: Read): Effect<void> => {
    const { from, to } = read.range;
    read.arrived ??= createOneShot<void>(() => `bytes ${from} to ${to} from "${disk.name}"`);
    return read.arrived.wait();
  };

  function* fetchSubmitted(): Steps {
    for (let read = submitted[0]; read !== undefined; read = submitted[0]) {
      read.start = simulation.now;
      yield read.moved;
      end(read);
      submitted.shift();
    }
  }

  return {
    begin,
    end,
    submit: (read) => {
      submitted.push(read);
      if (submitted.length === 1) simulation.spawn(`reads submitted to ${disk.name}`, fetchSubmitted());
    },
    arrivalOf: (byte) => {
      const read = all.find(({ range }) => range.from <= byte && byte < range.to);
      if (read === undefined) throw new Error(`byte ${byte} is being read by nobody`);
      return arrival(read);
    },
    nextArrival: () => submitted[0] && arrival(submitted[0]),
  };
}
