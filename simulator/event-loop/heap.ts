/**
 * A binary min-heap of events, sorted by (time, order), in arrays of numbers, so that moving an entry touches no
 * objects (Williams 1964, Algorithm 232). An entry is a time, a unique order, and a slot: the index at which the caller
 * keeps the event's data.
 */
export class EventHeap {
  count = 0;
  private readonly times: number[] = [];
  private readonly orders: number[] = [];
  private readonly slots: number[] = [];

  /** Time, order and slot of the first entry. The heap must not be empty. */
  get firstTime(): number {
    return this.times[0] as number;
  }
  get firstOrder(): number {
    return this.orders[0] as number;
  }
  get firstSlot(): number {
    return this.slots[0] as number;
  }

  push(time: number, order: number, slot: number): void {
    const { times, orders, slots } = this;
    let node = this.count++;
    while (node > 0) {
      const parent = (node - 1) >> 1;
      const parentTime = times[parent] as number;
      if (parentTime < time || (parentTime === time && (orders[parent] as number) < order)) break;
      times[node] = parentTime;
      orders[node] = orders[parent] as number;
      slots[node] = slots[parent] as number;
      node = parent;
    }
    times[node] = time;
    orders[node] = order;
    slots[node] = slot;
  }

  /** Removes the first entry and returns its slot. The heap must not be empty. */
  removeFirst(): number {
    const slot = this.slots[0] as number;
    if (--this.count > 0) this.sink(this.count, 0);
    return slot;
  }

  /** Removes the entries whose slot fails `keeps`, and restores the heap in O(n) (Floyd 1964, Algorithm 245). */
  filter(keeps: (slot: number) => boolean): void {
    const { times, orders, slots } = this;
    let kept = 0;
    for (let node = 0; node < this.count; node++) {
      if (!keeps(slots[node] as number)) continue;
      times[kept] = times[node] as number;
      orders[kept] = orders[node] as number;
      slots[kept] = slots[node] as number;
      kept++;
    }
    this.count = kept;
    for (let node = (kept >> 1) - 1; node >= 0; node--) this.sink(node, node);
  }

  /** Moves the entry at `from` to the free node `to`, then down until no child is smaller. */
  private sink(from: number, to: number): void {
    const { times, orders, slots, count } = this;
    const time = times[from] as number;
    const order = orders[from] as number;
    const slot = slots[from] as number;
    let node = to;
    for (;;) {
      let child = 2 * node + 1;
      if (child >= count) break;
      let childTime = times[child] as number;
      const sibling = child + 1;
      if (sibling < count) {
        const siblingTime = times[sibling] as number;
        const isLess =
          siblingTime < childTime ||
          (siblingTime === childTime && (orders[sibling] as number) < (orders[child] as number));
        if (isLess) {
          child = sibling;
          childTime = siblingTime;
        }
      }
      if (time < childTime || (time === childTime && order < (orders[child] as number))) break;
      times[node] = childTime;
      orders[node] = orders[child] as number;
      slots[node] = slots[child] as number;
      node = child;
    }
    times[node] = time;
    orders[node] = order;
    slots[node] = slot;
  }
}
