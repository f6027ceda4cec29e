import type { ExpertsCase } from '../../engine/cost/experts/experts-case.ts';
import type { MemoryShares } from '../../engine/cost/experts/memory-shares.ts';
import { bufferedReads, pieceReads } from '../../engine/cost/experts/piece-reads.ts';
import { swapSeconds } from '../../engine/cost/experts/pressure.ts';
import { createExpertCaches } from '../../engine/experts/expert-caches.ts';
import type { ReadUnit } from '../../engine/experts/unit-cache.ts';
import { hold, holdUntil, type Steps } from '../event-loop/effect.ts';
import type { Simulation } from '../event-loop/simulation.ts';
import { createPageCache, type PageCache } from '../page-cache/page-cache.ts';
import type { DiskThrottle } from './disk.ts';
import {
  createOwnLanes,
  createReadBus,
  createReadLanes,
  type KnownRead,
  type LaneRead,
  type ReadBus,
} from './read-lanes.ts';
import { createSlotPages } from './slot-pages.ts';

/** Counts of the needs of experts, and of what was read. */
export interface ExpertCounts {
  readonly needs: number;
  /** Needs that slots, or mapped pages, held. */
  readonly hits: number;
  /** Experts that were read, or copied from file pages, for a router and for a guess. */
  readonly demanded: number;
  readonly guessed: number;
  /** Bytes that the disk read. */
  readonly bytes: number;
  /** Bytes that were copied from file pages into slots. */
  readonly copiedBytes: number;
  /** Bytes that came back from swap. */
  readonly swappedBytes: number;
  /** Bytes of what every token uses that were read again. */
  readonly denseBytes: number;
}

/** A layer's chosen experts: the number in memory when the router has chosen, and the arrivals of the others. */
export interface NeededExperts {
  readonly held: number;
  /** Waits for what the operating system had swapped out of their slots. */
  return(): Steps;
  /** Waits for each of the others, in the order of their reads. */
  readonly arrivals: readonly (() => Steps)[];
}

export interface FinishedRead {
  readonly name: 'experts' | 'prefetch' | 'swap' | 'always used';
  readonly start: number;
  readonly end: number;
  readonly bytes: number;
}

/** A machine's experts between its disk and its memory. */
export interface ExpertStore {
  /** Needs different experts of a layer, at most as many as there are slots, and begins to read what is missing. */
  need(layer: number, experts: readonly number[]): NeededExperts;
  /** Reads experts that a router may choose later. */
  guess(layer: number, experts: readonly number[]): void;
  /**
   * Puts slots and file pages at once into the state that needs of experts leave behind: no read takes time or counts.
   * @param guessed experts of the next layer that are brought ahead
   */
  fill(layer: number, experts: readonly number[], guessed: readonly number[]): void;
  /** Uses what every token uses, in equal parts for each layer and for the output (`part` = layers). */
  useDense(part: number): Steps;
  /** Experts that can be needed at once. */
  readonly together: number;
  readonly counts: ExpertCounts;
  readonly bus: ReadBus;
  readonly pages: PageCache | undefined;
}

export interface ExpertStoreParts {
  readonly simulation: Simulation;
  readonly one: ExpertsCase;
  readonly shares: MemoryShares;
  readonly throttle?: DiskThrottle | undefined;
  readonly onRead: (read: FinishedRead) => void;
}

/** A read of an expert under way: its pieces, or when the last of them ends. */
type Fetch = readonly LaneRead[] | number;

export function createExpertStore({ simulation, one, shares, throttle, onRead }: ExpertStoreParts): ExpertStore {
  const { mixture, memory, policy, disk } = one;
  const { layers, experts, expertBytes, readsPerExpert, denseBytes } = mixture;
  const isMapped = policy.method === 'mmap';
  const bus = createReadBus(simulation, disk, throttle);
  const lanes = createReadLanes(simulation, policy.depth);
  const { bytes: pieceBytes, disk: pieceDisk } = pieceReads(one);
  const ownLanes = createOwnLanes(simulation, { bus, depth: policy.depth, latency: pieceDisk.latency });
  const counts = {
    ...{ needs: 0, hits: 0, demanded: 0, guessed: 0 },
    ...{ bytes: 0, copiedBytes: 0, swappedBytes: 0, denseBytes: 0 },
  };
  const caches = isMapped ? undefined : createExpertCaches({ policy, slots: shares.slots, layers, experts });
  const slotPages = createSlotPages(shares.residentSlots);
  const places = new Map<number, number>();
  const isSwapping = shares.residentSlots < shares.allSlots;
  /** Whether only experts are read, past the page cache, and each for a token that waits for it: no read is cancelled. */
  const readsAlone =
    policy.method === 'direct' && memory.dense === 'anonymous' && !isSwapping && policy.lookahead.kind === 'none';
  /** Reads of a disk that has no others, if they hadn't ended when the counts were last asked for. */
  let known: KnownRead[] = [];
  const fetches = new Map<number, Fetch>();

  // The file: matrix by matrix, in each all experts of a layer, then what every token uses. A piece is an extent.
  const extent = Math.max(1, Math.round(pieceBytes));
  const denseStart = layers * readsPerExpert * experts * extent;
  const hasPages = policy.method !== 'direct' || memory.dense === 'mapped';
  const mappedBytes = (isMapped ? denseStart : 0) + (memory.dense === 'mapped' ? denseBytes : 0);
  const pages = hasPages
    ? createPageCache({
        ...{ size: denseStart + denseBytes, used: mappedBytes, limit: shares.pageBytes, extentBytes: extent },
        now: () => simulation.now,
        policy: {
          ...(memory.reclaim === 'two-lists'
            ? { name: 'linux-two-list' as const, random: memory.readAhead === 'exact' }
            : { name: 'linux' as const }),
          readAhead: memory.readAhead === 'exact' ? 0 : memory.readAhead,
        },
      })
    : undefined;
  const pieceRange = (unit: number, piece: number) => {
    const [layer, expert] = [Math.floor(unit / experts), unit % experts];
    const from = ((layer * readsPerExpert + piece) * experts + expert) * extent;
    return { from, to: from + extent };
  };

  /**
   * Hearth populates mapped experts, and reads others, whether they are in memory or not: Linux marks what it finds as used
   * (FOLL_TOUCH, mm/gup.c; filemap_read, mm/filemap.c), and not what page tables have used, since the mapping is advised
   * MADV_RANDOM (vma_has_recency).
   */
  const reader = memory.readAhead === 'exact' ? 'populate' : 'demand';
  const use = (cache: PageCache, range: { from: number; to: number }): void => {
    if (reader === 'populate') cache.startRead(range, reader);
    else cache.touch(range);
  };

  const isInPages = (unit: number): boolean =>
    pages !== undefined &&
    Array.from({ length: readsPerExpert }, (_, piece) => pieceRange(unit, piece)).every(
      (range) => pages.next(range).state === 'resident',
    );

  /** The operating system's read-ahead behind a piece: nobody waits for it. */
  function* readBehind(cache: PageCache, range: { from: number; to: number }): Steps {
    yield* bus.read(0, range.to - range.from);
    counts.bytes += range.to - range.from;
    cache.finishRead(range);
  }

  /** One piece, through the page cache or past it. */
  function* readPiece(unit: number, piece: number, name: FinishedRead['name']): Steps {
    const start = simulation.now;
    if (pages === undefined || policy.method === 'direct') {
      yield* bus.read(pieceDisk.latency, pieceBytes);
      counts.bytes += pieceBytes;
      onRead({ name, start, end: simulation.now, bytes: pieceBytes });
      return;
    }
    const range = pieceRange(unit, piece);
    const found = pages.next(range);
    if (found.state === 'missing') {
      const [wanted, ...behind] = [...pages.startRead(range, reader)].flatMap(({ from, to }) =>
        from < range.to && to > range.to
          ? [
              { from, to: range.to },
              { from: range.to, to },
            ]
          : [{ from, to }],
      );
      yield* bus.read(pieceDisk.latency, pieceBytes);
      counts.bytes += pieceBytes;
      if (wanted !== undefined) pages.finishRead(wanted);
      onRead({ name, start, end: simulation.now, bytes: pieceBytes });
      for (const ahead of behind) simulation.spawn('reads ahead of a piece', readBehind(pages, ahead));
      pages.touch(range);
      return;
    }
    if (!isMapped) {
      yield hold(pieceBytes / memory.copyRate);
      counts.copiedBytes += pieceBytes;
    }
    use(pages, range);
  }

  const fetch = (unit: number, name: 'experts' | 'prefetch'): void => {
    if (!readsAlone) {
      const pieces = Array.from({ length: readsPerExpert }, (_, piece) =>
        lanes.request(() => readPiece(unit, piece, name)),
      );
      fetches.set(unit, pieces);
      return;
    }
    let end = 0;
    for (let piece = 0; piece < readsPerExpert; piece++) {
      const read = ownLanes(pieceBytes);
      known.push(read);
      onRead({ name, ...read });
      end = read.end;
    }
    fetches.set(unit, end);
  };

  function* awaitFetch(unit: number, fetched: Fetch): Steps {
    if (typeof fetched !== 'number') {
      for (const { done } of fetched) if (done.state === 'pending') yield done.wait();
    } else if (fetched > simulation.now) yield holdUntil(fetched);
    fetches.delete(unit);
  }

  /** Counts the reads that have ended by now. */
  const countKnown = (): void => {
    const ended = known.filter(({ end }) => end <= simulation.now);
    counts.bytes += ended.reduce((sum, { bytes }) => sum + bytes, 0);
    known = known.slice(ended.length);
  };

  /** Slots that are used: what the operating system had swapped out of them comes back. @returns bytes */
  const useSlots = (units: readonly number[]): number => {
    if (!isSwapping) return 0;
    const slots = units.flatMap((unit) => places.get(unit) ?? []);
    return slots.filter((slot) => slotPages.use(slot)).length * expertBytes;
  };

  function* swapIn(bytes: number): Steps {
    if (bytes === 0) return;
    const start = simulation.now;
    counts.swappedBytes += bytes;
    const seconds = swapSeconds(memory.pressure, disk, bytes);
    // As many go to the disk as come from it.
    const moved = (2 * bytes) / disk.bandwidth;
    yield* bus.read(seconds - moved, 2 * bytes);
    onRead({ name: 'swap', start, end: simulation.now, bytes });
  }

  /** Drops what a wrong guess still waits to read: its slot is taken. */
  const cancel = (unit: number): void => {
    const fetched = fetches.get(unit);
    if (fetched === undefined || typeof fetched === 'number') return;
    for (const piece of fetched) piece.cancel();
    fetches.delete(unit);
  };

  /** Units take slots. @returns them */
  const placed = (read: readonly ReadUnit[]): number[] => {
    for (const { unit, victim, kept } of read) {
      if (victim !== undefined) cancel(victim);
      if (!kept) continue;
      places.set(unit, victim === undefined ? places.size : (places.get(victim) ?? places.size));
      if (victim !== undefined) places.delete(victim);
    }
    return read.map(({ unit }) => unit);
  };

  /** Units whose file pages are in memory from now on, where the policy's reads go through them. */
  const fillPages = (units: readonly number[]): void => {
    if (pages === undefined || policy.method === 'direct') return;
    for (const unit of units)
      for (let piece = 0; piece < readsPerExpert; piece++) {
        const range = pieceRange(unit, piece);
        if (pages.next(range).state === 'missing')
          for (const read of [...pages.startRead(range, reader)]) pages.finishRead(read);
        else use(pages, range);
      }
  };

  /** Units that must be read for some experts of a layer. */
  const missingOf = (layer: number, chosen: readonly number[]): number[] => {
    if (caches === undefined)
      return chosen.map((expert) => layer * experts + expert).filter((unit) => !isInPages(unit));
    return placed(caches.need(layer, chosen));
  };

  return {
    bus,
    pages,
    get counts() {
      countKnown();
      return counts;
    },
    together: isMapped ? layers * experts : shares.slots,
    need(layer, chosen) {
      const units = chosen.map((expert) => layer * experts + expert);
      const missing = missingOf(layer, chosen);
      if (isMapped && pages !== undefined)
        for (const unit of units)
          if (!missing.includes(unit))
            for (let piece = 0; piece < readsPerExpert; piece++) use(pages, pieceRange(unit, piece));
      counts.needs += units.length;
      counts.hits += units.length - missing.length;
      counts.demanded += missing.length;
      const swapped = useSlots(units);
      for (const unit of missing) fetch(unit, 'experts');
      const awaited = units.flatMap((unit) => {
        const under = fetches.get(unit);
        return under === undefined ? [] : [{ unit, under }];
      });
      return {
        held: units.length - awaited.length,
        return: () => swapIn(swapped),
        arrivals: awaited.map(
          ({ unit, under }) =>
            () =>
              awaitFetch(unit, under),
        ),
      };
    },
    guess(layer, chosen) {
      const missing = caches === undefined ? missingOf(layer, chosen) : placed(caches.bring(layer, chosen));
      counts.guessed += missing.length;
      for (const unit of missing) fetch(unit, 'prefetch');
    },
    fill(layer, chosen, guessed) {
      const units = chosen.map((expert) => layer * experts + expert);
      if (caches === undefined) {
        fillPages(units);
        fillPages(missingOf(layer + 1, guessed));
      } else {
        fillPages(placed(caches.need(layer, chosen)));
        useSlots(units);
        fillPages(placed(caches.bring(layer + 1, guessed)));
      }
    },
    *useDense(part) {
      if (pages === undefined || memory.dense === 'anonymous' || denseBytes === 0) return;
      const each = denseBytes / (layers + 1);
      const range = { from: denseStart + part * each, to: Math.min(denseStart + (part + 1) * each, pages.size) };
      for (let from = range.from; from < range.to - 1; ) {
        const found = pages.next({ from, to: range.to });
        if (found.state !== 'missing') pages.touch(found);
        else {
          const start = simulation.now;
          const wanted = pages.startRead(found, 'demand');
          const bytes = wanted.reduce((sum, one) => sum + one.to - one.from, 0);
          yield* bus.read(bufferedReads(disk, bytes, memory.readAhead).latency, bytes);
          for (const one of wanted) pages.finishRead(one);
          pages.touch(found);
          counts.denseBytes += bytes;
          onRead({ name: 'always used', start, end: simulation.now, bytes });
        }
        from = found.to;
      }
    },
  };
}
