/**
 * A binary min-heap by (time, order) over arrays of numbers, so that moving an entry touches no objects (Williams 1964,
 * Algorithm 232). An entry is a time, an order that is unique, and a slot: where its owner keeps the rest.
 */
export class EventHeap {
  count = 0;
  private readonly times: number[] = [];
  private readonly orders: number[] = [];
  private readonly slots: number[] = [];

  /** Time, order and slot of the first entry; there must be one. */
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

  /** Takes out the first entry; returns its slot. */
  removeFirst(): number {
    const slot = this.slots[0] as number;
    if (--this.count > 0) this.sink(this.count, 0);
    return slot;
  }

  /** Keeps the entries whose slot passes, and restores the order in O(n) (Floyd 1964, Algorithm 245). */
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

  /** Puts the entry at `from` into the free node `to`, or as far below it as it belongs. */
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
