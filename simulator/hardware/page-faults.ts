import { hold, type Steps } from '../event-loop/effect.ts';
import type { ByteRange } from '../page-cache/extents.ts';
import type { Segment } from '../page-cache/page-cache.ts';
import { nextSegment, readAndWait, type WeightsReader } from './weights-reader.ts';

/** A computation over weights. */
export interface Use {
  readonly range: ByteRange;
  /** Seconds that the computation takes, evenly over the range; 0 unless given. */
  readonly seconds?: number;
  /** Layers of equal size in the range, 1 unless given; one is needed once those before it are computed. */
  readonly layers?: number;
}

/**
 * Whether the weights of several layers may be needed at once: the times stay the same, although everything that is in
 * memory counts as used earlier.
 */
export function mayJoinLayers({ reclaimTakesTime, faults, faultsOnly }: WeightsReader): boolean {
  return !reclaimTakesTime && (faults.usesPagesAsTheyCome || faultsOnly);
}

/** Progress of a computation through its range. */
interface Progress extends Required<Use> {
  /** Seconds that the computation takes per byte. */
  readonly perByte: number;
  readonly layerBytes: number;
  /** The first byte that has not been used yet. */
  from: number;
  /** When everything that has arrived so far will have been used. */
  used: number;
  /** Seconds that mapping pages has taken. */
  mapping: number;
}

/**
 * A computation needs a range: it waits for what is being read, reads what is missing by page faults, and uses all of
 * it.
 * @returns the seconds of the computation that are left when the last byte is in memory: all of them, or less where
 *   pages
 * are used as they come; and on top of that what mapping the pages takes
 */
export function* pageFaults(weights: WeightsReader, { range, seconds = 0, layers = 1 }: Use): Steps<number> {
  const { simulation, cache, faults, totals, reclaimTakesTime } = weights;
  const begin = simulation.now;
  const bytes = range.to - range.from;
  const progress: Progress = {
    range,
    seconds,
    layers,
    perByte: seconds / bytes,
    layerBytes: bytes / layers,
    from: range.from,
    used: begin,
    mapping: 0,
  };
  while (progress.from < range.to) {
    const rest = { from: progress.from, to: range.to };
    // Pages that arrived earlier are used while reclaim makes room.
    const start = simulation.now;
    const segment = reclaimTakesTime ? yield* nextSegment(weights, rest) : cache.next(rest);
    switch (segment.state) {
      case 'resident': {
        const mapping = cache.touch(segment) / faults.osRates.mapped;
        if (cache.readsAhead(segment)) yield* readAndWait(weights, segment, 'demand');
        advance(weights, progress, segment.to, start, mapping);
        break;
      }
      case 'missing':
        yield* readMissing(weights, progress, segment, start);
        break;
      case 'reading':
        yield* awaitRead(weights, progress, segment, start);
        break;
    }
  }
  const waited = simulation.now - begin;
  const { used, mapping } = progress;
  const left = faults.usesPagesAsTheyCome && waited > 0 ? used - simulation.now : seconds + mapping;
  totals.stallSeconds += waited - (seconds - left);
  return left;
}

/** A page fault. Layers after the first are read once those before them are computed. */
function* readMissing(weights: WeightsReader, progress: Progress, segment: Segment, start: number): Steps {
  const { cache, faults, faultsOnly } = weights;
  const { range, layers, layerBytes, perByte, from, used } = progress;
  let end = segment.to;
  if (layers > 1 && faults.usesPagesAsTheyCome && used > start) {
    const layer = range.from + Math.floor((from - range.from) / layerBytes + ROUNDING) * layerBytes;
    const before = used - (from - layer) * perByte;
    if (before > start) {
      yield hold(before - start);
      return;
    }
    // The part of this layer that is in memory is still being computed, so the next layer is needed later.
    end = Math.min(end, layer + layerBytes);
  }
  const wanted = { from, to: end };
  const chunk = layers > 1 && faultsOnly && faults.readsInOneGo ? wanted : cache.atOnce(wanted, 'demand');
  // Pages are used as soon as they are read: they may be evicted before they could be looked up again.
  yield* readAndWait(weights, chunk, 'demand');
  cache.touch(chunk);
  advance(weights, progress, Math.min(range.to, chunk.to), start, 0);
}

/** The segment is already being read: by a prefetcher, or by the operating system ahead of a page fault. */
function* awaitRead(weights: WeightsReader, progress: Progress, segment: Segment, start: number): Steps {
  const { cache, faults, reads } = weights;
  const { from } = progress;
  if (cache.readsAhead(segment)) {
    yield* readAndWait(weights, segment, 'demand');
    advance(weights, progress, from, start, 0);
    return;
  }
  yield reads.arrivalOf(from);
  // Pages came in order and were used as they came, unless what arrived was evicted at once.
  const found = cache.next(segment);
  const isThere = found.state === 'resident';
  const mapping = isThere ? cache.touch(found) / faults.osRates.mapped : 0;
  advance(weights, progress, isThere ? found.to : from, start, mapping);
}

/** Everything up to `to` is in memory. @param start when the segment was needed */
function advance({ simulation }: WeightsReader, progress: Progress, to: number, start: number, mapping: number): void {
  const { from, used, perByte } = progress;
  progress.used = Math.max(Math.max(used, start) + (to - from) * perByte + mapping, simulation.now);
  progress.mapping += mapping;
  progress.from = to;
}

/** The beginning of a layer is known up to this part of a layer. */
const ROUNDING = 1e-9;
