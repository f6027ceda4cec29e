import type { Effect, Steps } from '../event-loop/effect.ts';
import { createOneShot, type OneShot } from '../event-loop/one-shot.ts';
import type { Simulation } from '../event-loop/simulation.ts';
import type { ByteRange } from '../page-cache/extents.ts';
import type { PageCache } from '../page-cache/page-cache.ts';
import type { Access } from '../page-cache/policies.ts';
import type { Reader } from '../page-cache/reclaimer.ts';
import type { Disk } from './disk.ts';

/** A read of the disk that has ended. */
export interface FinishedRead {
  readonly reader: Reader;
  readonly bytes: number;
  readonly start: number;
  readonly end: number;
}

/** A read of the disk under way. */
export interface DiskRead {
  readonly range: ByteRange;
  readonly reader: Reader;
  /** When the disk turned to it, seconds. */
  start: number;
  /** Waits until the disk has moved the bytes. */
  readonly moved: Effect<void>;
  /** Created for the first waiter, since nobody else waits for most reads. */
  arrived: OneShot<void> | undefined;
}

/** Reads under way: the page cache has begun them, and the disk does them at once or one by one in the background. */
export interface DiskReads {
  /** Requests a range from the disk. The caller waits until it has `moved` and then calls `end`, or submits it. */
  begin(range: ByteRange, reader: Reader, access: Access): DiskRead;
  end(read: DiskRead): void;
  /** Ends a read in the background, after those that were submitted before. */
  submit(read: DiskRead): void;
  /** Waits until the read that brings a byte has ended. */
  arrivalOf(byte: number): Effect<void>;
  /** Waits until the first of the submitted reads has ended; `undefined` if there are none. */
  nextArrival(): Effect<void> | undefined;
}

export function createDiskReads(
  simulation: Simulation,
  cache: PageCache,
  disk: Disk,
  onRead: (read: FinishedRead) => void,
): DiskReads {
  const all: DiskRead[] = [];
  const submitted: DiskRead[] = [];

  const begin = (range: ByteRange, reader: Reader, access: Access): DiskRead => {
    const moved = disk.read(range.to - range.from, access);
    const read = { range, reader, start: simulation.now, moved, arrived: undefined };
    all.push(read);
    return read;
  };

  const end = (read: DiskRead): void => {
    const { range, reader, start, arrived } = read;
    cache.finishRead(range);
    const last = all.pop() as DiskRead;
    if (last !== read) all[all.indexOf(read)] = last;
    onRead({ reader, bytes: range.to - range.from, start, end: simulation.now });
    arrived?.succeed();
  };

  const arrival = (read: DiskRead): Effect<void> => {
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
      if (read === undefined) throw new Error(`byte ${byte} is not being read`);
      return arrival(read);
    },
    nextArrival: () => submitted[0] && arrival(submitted[0]),
  };
}
