/**
 * A ring buffer of entries of one time, in ascending order: what happens at the current instant, first come, first
 * served. It does in O(1) what a heap would do in O(log n).
 */
export class EventLane {
  count = 0;
  /** The time of all entries. */
  time = 0;
  private head = 0;
  private orders = new Float64Array(0);
  private slots = new Int32Array(0);

  get firstOrder(): number {
    return this.orders[this.head] as number;
  }
  get firstSlot(): number {
    return this.slots[this.head] as number;
  }

  /** Takes the entry if it comes last; an empty lane takes it if it belongs to the instant `now`. */
  accepts(time: number, order: number, now: number): boolean {
    if (this.count === 0) return time === now;
    const last = (this.head + this.count - 1) & (this.orders.length - 1);
    return time === this.time && order > (this.orders[last] as number);
  }

  /** The entry must be acceptable. */
  push(time: number, order: number, slot: number): void {
    if (this.count === this.orders.length) this.grow();
    const index = (this.head + this.count++) & (this.orders.length - 1);
    this.time = time;
    this.orders[index] = order;
    this.slots[index] = slot;
  }

  /** Takes out the first entry; returns its slot. */
  removeFirst(): number {
    const slot = this.slots[this.head] as number;
    this.head = (this.head + 1) & (this.orders.length - 1);
    this.count--;
    return slot;
  }

  /** Keeps the entries whose slot passes. */
  filter(keeps: (slot: number) => boolean): void {
    const count = this.count;
    for (let passed = 0; passed < count; passed++) {
      const order = this.firstOrder;
      const slot = this.removeFirst();
      if (keeps(slot)) this.push(this.time, order, slot);
    }
  }

  /** The length stays a power of two: an index wraps by a mask. */
  private grow(): void {
    const { orders, slots, head, count } = this;
    const length = Math.max(16, 2 * count);
    this.orders = new Float64Array(length);
    this.slots = new Int32Array(length);
    for (let index = 0; index < count; index++) {
      this.orders[index] = orders[(head + index) & (count - 1)] as number;
      this.slots[index] = slots[(head + index) & (count - 1)] as number;
    }
    this.head = 0;
  }
}
