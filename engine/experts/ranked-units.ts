/** Units by rank, the least first: by a value, and among equals by the order in which they were ranked. */
export interface RankedUnits {
  /** Ranks a unit, anew if it has a rank. */
  rank(unit: number, value: number): void;
  remove(unit: number): void;
  /** The least unit that isn't spared; `undefined` without one. */
  least(isSpared: (unit: number) => boolean): number | undefined;
}

interface Entry {
  readonly unit: number;
  readonly value: number;
  readonly order: number;
}

const isLess = (one: Entry, other: Entry): boolean =>
  one.value < other.value || (one.value === other.value && one.order < other.order);

/** A binary heap, in which former ranks stay until they come to the top. */
export function createRankedUnits(): RankedUnits {
  const heap: Entry[] = [];
  const current = new Map<number, Entry>();
  let ranked = 0;
  const push = (entry: Entry): void => {
    let at = heap.push(entry) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isLess(entry, heap[parent] as Entry)) break;
      heap[at] = heap[parent] as Entry;
      at = parent;
    }
    heap[at] = entry;
  };
  const pop = (): void => {
    const last = heap.pop() as Entry;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isLess(heap[child + 1] as Entry, heap[child] as Entry)) child += 1;
      if (!isLess(heap[child] as Entry, last)) break;
      heap[at] = heap[child] as Entry;
      at = child;
    }
    heap[at] = last;
  };
  return {
    rank(unit, value) {
      const entry = { unit, value, order: ranked++ };
      current.set(unit, entry);
      push(entry);
    },
    remove: (unit) => void current.delete(unit),
    least(isSpared) {
      const spared: Entry[] = [];
      let found: number | undefined;
      while (heap.length > 0 && found === undefined) {
        const top = heap[0] as Entry;
        if (current.get(top.unit) !== top) pop();
        else if (isSpared(top.unit)) {
          spared.push(top);
          pop();
        } else found = top.unit;
      }
      for (const entry of spared) push(entry);
      return found;
    },
  };
}
