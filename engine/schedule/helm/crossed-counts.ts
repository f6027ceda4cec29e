/** A split that was predicted: how many of the GPU's first layers have their experts on the CPU, and what that costs. */
export interface CountedSplit {
  readonly fitsGpu: boolean;
  /** Whether it can run at all. */
  readonly feasible: boolean;
  readonly tokenSeconds: number;
  /** The part of those seconds in which disks are read. */
  readonly diskSeconds: number;
}

/** A boundary k of the search. */
export interface Boundary {
  /** The GPU's first layer. */
  readonly first: number;
  /** The numbers of its layers that may have their experts on the CPU, ascending from 0. */
  readonly counts: readonly number[];
}

/**
 * Finds for one boundary after another, by ascending k, the count with the least time that can run, the fewest of equals;
 * where none can run, the split with none. All counts are considered, but few are predicted: with the count the bytes on
 * the GPU fall, and those in RAM, and with them what disks are read for, rise; and what a layer's experts cost more on the
 * CPU, disks apart, is the same at every boundary, so that the first one tells it.
 * @param predicted a split at the boundary that is asked for
 */
export function createCountSearch<Place extends Boundary, Split extends CountedSplit>(
  predicted: (boundary: Place, count: number) => Split,
): (boundary: Place) => Split {
  /** Seconds without disks of the first boundary, by the layer behind the last one whose experts are on the CPU. */
  let known: ReadonlyMap<number, number> | undefined;
  /** The layer behind the fewest that leave room on the GPU at the boundary before. */
  let end = Number.POSITIVE_INFINITY;
  return (boundary) => {
    const { first, counts } = boundary;
    const splits = new Map<number, Split>();
    const split = (index: number): Split => {
      const one = splits.get(index) ?? predicted(boundary, counts[index] as number);
      splits.set(index, one);
      return one;
    };
    known ??= new Map(counts.map((count, index) => [first + count, withoutDisks(split(index))]));
    const last = counts.length - 1;
    let index = counts.findIndex((count) => first + count >= end);
    if (index < 0) index = last;
    while (index > 0 && split(index - 1).fitsGpu) index--;
    while (index < last && !split(index).fitsGpu) index++;
    if (!split(index).fitsGpu) return split(0);
    end = first + (counts[index] as number);
    let best = split(index).feasible ? index : 0;
    const fewest = split(index);
    const start = known.get(end);
    for (let more = index + 1; more <= last; more++) {
      const other = known.get(first + (counts[more] as number));
      const added = start === undefined || other === undefined ? Number.NEGATIVE_INFINITY : other - start;
      const least = withoutDisks(fewest) + added + fewest.diskSeconds;
      const leader = split(best);
      if (leader.feasible && least >= leader.tokenSeconds) continue;
      const one = split(more);
      if (one.feasible && (!leader.feasible || one.tokenSeconds < leader.tokenSeconds)) best = more;
    }
    return split(best);
  };
}

function withoutDisks({ tokenSeconds, diskSeconds }: CountedSplit): number {
  return tokenSeconds - diskSeconds;
}
