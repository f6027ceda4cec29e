import { EventHeap } from './heap.ts';

/** From this many entries on they are spread: a heap of fewer stays in the processor's first caches. */
const SPREAD_FROM = 2048;
/** Mean number of entries in a bucket. */
const PER_BUCKET = 16;
/** Times that are looked at to choose what the buckets cover, and the share of the entries that is to lie in them. */
const SAMPLES = 64;
const SHARE = 0.75;

/**
 * Events sorted by (time, order) as by an EventHeap, for many at once. A few are one heap. From SPREAD_FROM on only the
 * earliest are: later ones lie unsorted in buckets, each for a stretch of time, and the latest unsorted in one list. When
 * the heap is empty the next bucket becomes the heap; after the last bucket the list is spread over buckets anew. So
 * most entries are written and read in sequence, and sorted among a few: O(1) each where times are spread evenly, O(log n)
 * as with a heap where they crowd into one bucket (after Tang, Goh and Thng, "Ladder queue", ACM TOMACS 15(3), 2005,
 * with one rung, and a heap in place of the sorted list).
 */
export class EventCalendar {
  count = 0;
  /** Entries of bucket `current` and before it; all entries while none are spread. */
  private readonly near = new EventHeap();
  private buckets: Entries[] = [];
  private readonly far = new Entries();
  /** Buckets in use, 0 while none are, and the one that the heap holds. */
  private bucketCount = 0;
  private current = 0;
  /** Time at which the first bucket begins, and buckets per second. */
  private start = 0;
  private perSecond = 0;
  /** Entries at which spreading is tried. */
  private spreadFrom = SPREAD_FROM;

  /** @param ahead called with the slot of every entry of a bucket before they are sorted */
  constructor(private readonly ahead: (slot: number) => void) {}

  /** Time, order and slot of the first entry. The calendar must not be empty. */
  get firstTime(): number {
    return this.near.firstTime;
  }
  get firstOrder(): number {
    return this.near.firstOrder;
  }
  get firstSlot(): number {
    return this.near.firstSlot;
  }

  push(time: number, order: number, slot: number): void {
    this.count++;
    if (this.bucketCount > 0) {
      this.place(time, order, slot);
      return;
    }
    this.near.push(time, order, slot);
    if (this.count >= this.spreadFrom) this.spreadHeap();
  }

  /** Removes the first entry and returns its slot. The calendar must not be empty. */
  removeFirst(): number {
    this.count--;
    const slot = this.near.removeFirst();
    if (this.near.count === 0 && this.bucketCount > 0) this.advance();
    return slot;
  }

  /** Removes the entries whose slot fails `keeps`, in O(n). */
  filter(keeps: (slot: number) => boolean): void {
    this.near.filter(keeps);
    this.far.filter(keeps);
    this.count = this.near.count + this.far.count;
    for (let index = this.current + 1; index < this.bucketCount; index++) {
      const bucket = this.buckets[index] as Entries;
      bucket.filter(keeps);
      this.count += bucket.count;
    }
    if (this.near.count === 0 && this.bucketCount > 0) this.advance();
  }

  /** Puts an entry where it belongs. An index grows with the time, so buckets are in order whatever is rounded. */
  private place(time: number, order: number, slot: number): void {
    const index = (time - this.start) * this.perSecond;
    if (index < this.current + 1) this.near.push(time, order, slot);
    else if (index < this.bucketCount) (this.buckets[Math.floor(index)] as Entries).add(time, order, slot);
    else this.far.add(time, order, slot);
  }

  /** Fills the heap, which is empty, with what comes next. */
  private advance(): void {
    while (this.near.count === 0 && ++this.current < this.bucketCount) {
      const bucket = this.buckets[this.current] as Entries;
      const { count, values } = bucket;
      for (let at = 2; at < 3 * count; at += 3) this.ahead(values[at] as number);
      bucket.moveTo(this.near);
    }
    if (this.near.count === 0) this.spread();
  }

  private spreadHeap(): void {
    const { near, far } = this;
    while (near.count > 0) {
      const { firstTime, firstOrder } = near;
      far.add(firstTime, firstOrder, near.removeFirst());
    }
    this.spread();
  }

  /** Spreads the list, which holds all entries, over buckets; if they are few, or crowd at one time, over the heap. */
  private spread(): void {
    const { far } = this;
    const times = far.sampleTimes(SAMPLES);
    const start = times[0] ?? 0;
    const end = times[Math.floor(SHARE * times.length)] ?? 0;
    const wanted = Math.ceil((SHARE * far.count) / PER_BUCKET);
    const perSecond = wanted / (end - start);
    if (far.count < SPREAD_FROM / 2 || !(perSecond > 0 && perSecond < Number.POSITIVE_INFINITY)) {
      this.bucketCount = 0;
      this.buckets = [];
      this.spreadFrom = Math.max(SPREAD_FROM, 2 * far.count);
      far.moveTo(this.near);
      return;
    }
    while (this.buckets.length < wanted) this.buckets.push(new Entries());
    this.bucketCount = wanted;
    this.current = 0;
    this.start = start;
    this.perSecond = perSecond;
    const { count, values } = far;
    // The entries that stay are written over those that have been read.
    far.count = 0;
    for (let at = 0; at < 3 * count; at += 3)
      this.place(values[at] as number, values[at + 1] as number, values[at + 2] as number);
  }
}

/** Entries in no order: time, order and slot of each, one after the other. */
class Entries {
  count = 0;
  readonly values: number[] = [];

  add(time: number, order: number, slot: number): void {
    const { values } = this;
    const at = 3 * this.count++;
    values[at] = time;
    values[at + 1] = order;
    values[at + 2] = slot;
  }

  /** Adds all to a heap, and is empty then. */
  moveTo(heap: EventHeap): void {
    const { count, values } = this;
    this.count = 0;
    for (let at = 0; at < 3 * count; at += 3)
      heap.push(values[at] as number, values[at + 1] as number, values[at + 2] as number);
  }

  filter(keeps: (slot: number) => boolean): void {
    const { count, values } = this;
    this.count = 0;
    for (let at = 0; at < 3 * count; at += 3)
      if (keeps(values[at + 2] as number))
        this.add(values[at] as number, values[at + 1] as number, values[at + 2] as number);
  }

  /** Up to `most` times, from all over the list, ascending. */
  sampleTimes(most: number): Float64Array {
    const { count, values } = this;
    const taken = Math.min(most, count);
    return Float64Array.from(
      { length: taken },
      (_, index) => values[3 * Math.floor((index * count) / taken)] as number,
    ).sort();
  }
}
