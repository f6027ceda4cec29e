/** What can stand in an EventQueue: an object that keeps its slot there; −1 while it stands in none. */
export interface Queued {
  slot: number;
}

/** Priorities of events are whole numbers from −LARGEST_PRIORITY to LARGEST_PRIORITY. */
export const LARGEST_PRIORITY = 255;

/** Sequence numbers below 2⁴⁴ and priorities below 2⁸ share the 53 bits of an exact number. */
const PRIORITY_STEP = 2 ** 44;

/** Children of a heap node: four fit in a cache line or two, and halve the levels of a binary heap. */
const ARITY = 4;

/** Discarded entries that are kept until they come up, before a clean-up is considered. */
const KEPT_DISCARDED = 64;

/**
 * A queue in the order (time, priority, sequence of arrival): a 4-ary heap over arrays of numbers (Johnson 1975,
 * "Priority queues with update"; LaMarca and Ladner 1996 on why d = 4 suits caches). Entries at the time of the last
 * one taken, in order of arrival, bypass the heap through a ring buffer, the lane: the order is the same, the cost O(1).
 *
 * Discarding leaves a dead entry behind, skipped when it comes up; once the dead outnumber the living they are swept
 * out in O(n). So push and take cost O(log n), discard O(1) amortised, and memory follows the number of the living.
 */
export class EventQueue<T extends Queued> {
  /** Entries that are neither taken nor discarded. */
  size = 0;
  /** Time of the last entry taken. */
  time = 0;
  private sequence = 0;
  private dead = 0;

  /** slots[s] is the item of slot s, undefined if the slot is free or its entry dead. */
  private readonly slots: (T | undefined)[] = [];
  private freeSlots = new Int32Array(16);
  private freeCount = 0;

  private heapCount = 0;
  private times = new Float64Array(16);
  private orders = new Float64Array(16);
  private heapSlots = new Int32Array(16);

  /** All entries of the lane have this time, and rising orders. */
  private laneTime = 0;
  private laneHead = 0;
  private laneCount = 0;
  private laneOrders = new Float64Array(16);
  private laneSlots = new Int32Array(16);

  /** @param priority lower goes first among equal times */
  push(item: T, time: number, priority: number): void {
    const order = priority * PRIORITY_STEP + ++this.sequence;
    const slot = this.freeCount > 0 ? (this.freeSlots[--this.freeCount] as number) : this.slots.length;
    this.slots[slot] = item;
    item.slot = slot;
    this.size++;
    if (this.laneCount === 0) {
      if (time === this.time) {
        this.laneTime = time;
        this.appendToLane(order, slot);
        return;
      }
    } else if (time === this.laneTime && order > this.lastOfLane()) {
      this.appendToLane(order, slot);
      return;
    }
    if (this.heapCount === this.times.length) this.growHeap();
    this.siftUp(this.heapCount++, time, order, slot);
  }

  /** Takes the first entry out, unless its time is beyond `limit`. */
  take(limit = Number.POSITIVE_INFINITY): T | undefined {
    if (this.dead > 0) this.dropDeadFront();
    const fromHeap = this.heapComesFirst();
    if (!fromHeap && this.laneCount === 0) return undefined;
    const time = fromHeap ? (this.times[0] as number) : this.laneTime;
    if (time > limit) return undefined;
    const slot = fromHeap ? this.removeRoot() : this.removeLaneHead();
    const item = this.slots[slot] as T;
    this.release(slot);
    item.slot = -1;
    this.time = time;
    this.size--;
    return item;
  }

  /** The first entry, left where it is. */
  first(): T | undefined {
    if (this.dead > 0) this.dropDeadFront();
    if (this.heapComesFirst()) return this.slots[this.heapSlots[0] as number];
    return this.laneCount === 0 ? undefined : this.slots[this.laneSlots[this.laneHead] as number];
  }

  /** Takes `item`, which must stand in this queue, out of turn. */
  discard(item: T): void {
    this.slots[item.slot] = undefined;
    item.slot = -1;
    this.size--;
    this.dead++;
    if (this.dead > KEPT_DISCARDED && this.dead > this.size) this.sweep();
  }

  private release(slot: number): void {
    this.slots[slot] = undefined;
    if (this.freeCount === this.freeSlots.length) this.freeSlots = grown(this.freeSlots, Int32Array);
    this.freeSlots[this.freeCount++] = slot;
  }

  private heapComesFirst(): boolean {
    if (this.heapCount === 0) return false;
    if (this.laneCount === 0) return true;
    const time = this.times[0] as number;
    if (time !== this.laneTime) return time < this.laneTime;
    return (this.orders[0] as number) < (this.laneOrders[this.laneHead] as number);
  }

  private dropDeadFront(): void {
    for (;;) {
      const fromHeap = this.heapComesFirst();
      if (!fromHeap && this.laneCount === 0) return;
      const slot = (fromHeap ? this.heapSlots[0] : this.laneSlots[this.laneHead]) as number;
      if (this.slots[slot] !== undefined) return;
      this.release(fromHeap ? this.removeRoot() : this.removeLaneHead());
      this.dead--;
    }
  }

  /** Rebuilds lane and heap from the living, in order (Floyd 1964 for the heap). */
  private sweep(): void {
    const laneCount = this.laneCount;
    for (let taken = 0; taken < laneCount; taken++) {
      const order = this.laneOrders[this.laneHead] as number;
      const slot = this.removeLaneHead();
      if (this.slots[slot] === undefined) this.release(slot);
      else this.appendToLane(order, slot);
    }
    let kept = 0;
    for (let node = 0; node < this.heapCount; node++) {
      const slot = this.heapSlots[node] as number;
      if (this.slots[slot] === undefined) this.release(slot);
      else this.place(kept++, this.times[node] as number, this.orders[node] as number, slot);
    }
    this.heapCount = kept;
    for (let node = Math.floor((kept - 2) / ARITY); node >= 0; node--)
      this.siftDown(node, this.times[node] as number, this.orders[node] as number, this.heapSlots[node] as number);
    this.dead = 0;
  }

  private lastOfLane(): number {
    return this.laneOrders[(this.laneHead + this.laneCount - 1) & (this.laneOrders.length - 1)] as number;
  }

  private appendToLane(order: number, slot: number): void {
    if (this.laneCount === this.laneOrders.length) this.growLane();
    const index = (this.laneHead + this.laneCount++) & (this.laneOrders.length - 1);
    this.laneOrders[index] = order;
    this.laneSlots[index] = slot;
  }

  private removeLaneHead(): number {
    const slot = this.laneSlots[this.laneHead] as number;
    this.laneHead = (this.laneHead + 1) & (this.laneOrders.length - 1);
    this.laneCount--;
    return slot;
  }

  private removeRoot(): number {
    const slot = this.heapSlots[0] as number;
    const last = --this.heapCount;
    if (last > 0)
      this.siftDown(0, this.times[last] as number, this.orders[last] as number, this.heapSlots[last] as number);
    return slot;
  }

  private place(node: number, time: number, order: number, slot: number): void {
    this.times[node] = time;
    this.orders[node] = order;
    this.heapSlots[node] = slot;
  }

  /** Moves an entry from the free `start` towards the root. */
  private siftUp(start: number, time: number, order: number, slot: number): void {
    const { times, orders, heapSlots } = this;
    let node = start;
    while (node > 0) {
      const parent = ((node - 1) / ARITY) | 0;
      const parentTime = times[parent] as number;
      if (parentTime < time || (parentTime === time && (orders[parent] as number) < order)) break;
      times[node] = parentTime;
      orders[node] = orders[parent] as number;
      heapSlots[node] = heapSlots[parent] as number;
      node = parent;
    }
    this.place(node, time, order, slot);
  }

  /** Moves an entry from the free `start` towards the leaves. */
  private siftDown(start: number, time: number, order: number, slot: number): void {
    const { times, orders, heapSlots, heapCount } = this;
    let node = start;
    for (;;) {
      const firstChild = ARITY * node + 1;
      if (firstChild >= heapCount) break;
      let least = firstChild;
      let leastTime = times[firstChild] as number;
      const end = Math.min(firstChild + ARITY, heapCount);
      for (let child = firstChild + 1; child < end; child++) {
        const childTime = times[child] as number;
        if (childTime < leastTime || (childTime === leastTime && (orders[child] as number) < (orders[least] as number))) {
          least = child;
          leastTime = childTime;
        }
      }
      if (time < leastTime || (time === leastTime && order < (orders[least] as number))) break;
      times[node] = leastTime;
      orders[node] = orders[least] as number;
      heapSlots[node] = heapSlots[least] as number;
      node = least;
    }
    this.place(node, time, order, slot);
  }

  private growHeap(): void {
    this.times = grown(this.times, Float64Array);
    this.orders = grown(this.orders, Float64Array);
    this.heapSlots = grown(this.heapSlots, Int32Array);
  }

  /** Doubles the ring buffer, its head first. */
  private growLane(): void {
    const { laneOrders, laneSlots, laneHead, laneCount } = this;
    this.laneOrders = new Float64Array(2 * laneCount);
    this.laneSlots = new Int32Array(2 * laneCount);
    for (let index = 0; index < laneCount; index++) {
      const from = (laneHead + index) & (laneCount - 1);
      this.laneOrders[index] = laneOrders[from] as number;
      this.laneSlots[index] = laneSlots[from] as number;
    }
    this.laneHead = 0;
  }
}

/** A copy of twice the length. */
function grown<A extends Float64Array | Int32Array>(
  array: A,
  Constructor: new (length: number) => A,
): A {
  const larger = new Constructor(2 * array.length);
  larger.set(array);
  return larger;
}
