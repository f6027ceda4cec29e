import { EventCalendar } from './calendar.ts';
import { EventLane } from './lane.ts';

/** An item of an EventQueue, in one queue at a time: it keeps its slot there, −1 while it is in none. */
export interface Queued {
  slot: number;
  /**
   * Reads what the item's turn will read, a little ahead of it. Among many items each one's memory has left the caches;
   * that of several items read in a row is fetched at the same time.
   */
  touch?(): void;
}

/** Priorities are whole numbers from −LARGEST_PRIORITY to LARGEST_PRIORITY. */
export const LARGEST_PRIORITY = 255;

/** A priority below 2⁸ and a sequence number below 2⁴⁴ share the 53 bits of an exact number, the order. */
const PRIORITY_STEP = 2 ** 44;

/** Fewer dead entries than this are not swept out. */
const SWEPT_FROM = 64;

/**
 * A queue in the order (time, priority, sequence of arrival). Entries of the current instant that arrive in order go
 * through the lane, all others through the calendar; the order is the same either way.
 *
 * A discarded entry stays in place, dead, until it reaches the front or until dead entries outnumber living ones and
 * are swept out. So push and take are O(log n), discard is O(1) amortised, and memory follows the number of living
 * entries.
 */
export class EventQueue<T extends Queued> {
  /** Living entries. */
  size = 0;
  /** Time of the last entry taken: the current instant. */
  time = 0;
  private sequence = 0;
  private dead = 0;
  private readonly calendar = new EventCalendar((slot) => this.items[slot]?.touch?.());
  private readonly lane = new EventLane();
  /**
   * The item of each slot; undefined where its entry is dead. A free slot keeps its last item, which is often the next
   * as well: a store of a reference makes the engine's collector look at the item's page.
   */
  private readonly items: (T | undefined)[] = [];
  /** The time of each slot's entry. */
  private readonly times: number[] = [];
  private readonly freeSlots: number[] = [];

  /** @param priority lower goes first among equal times */
  push(item: T, time: number, priority: number): void {
    const order = priority * PRIORITY_STEP + this.sequence++;
    const slot = this.freeSlots.pop() ?? this.items.length;
    if (this.items[slot] !== item) this.items[slot] = item;
    this.times[slot] = time;
    item.slot = slot;
    this.size++;
    if (this.lane.accepts(time, order, this.time)) this.lane.push(time, order, slot);
    else this.calendar.push(time, order, slot);
  }

  /** Takes out the first entry, unless there is none or its time lies beyond `limit`. */
  take(limit = Number.POSITIVE_INFINITY): T | undefined {
    if (this.dead > 0) this.dropDead();
    if (this.size === 0) return undefined;
    const fromCalendar = this.calendarIsFirst();
    const time = fromCalendar ? this.calendar.firstTime : this.lane.time;
    if (time > limit) return undefined;
    const slot = fromCalendar ? this.calendar.removeFirst() : this.lane.removeFirst();
    const item = this.items[slot] as T;
    this.freeSlots.push(slot);
    item.slot = -1;
    this.time = time;
    this.size--;
    return item;
  }

  /** The first item, which stays in the queue. */
  first(): T | undefined {
    if (this.dead > 0) this.dropDead();
    if (this.size === 0) return undefined;
    return this.items[this.calendarIsFirst() ? this.calendar.firstSlot : this.lane.firstSlot];
  }

  /** The time of the first item; infinite if there is none. */
  get firstTime(): number {
    if (this.dead > 0) this.dropDead();
    if (this.size === 0) return Number.POSITIVE_INFINITY;
    return this.calendarIsFirst() ? this.calendar.firstTime : this.lane.time;
  }

  /** The time of `item`, which must stand in this queue. */
  timeOf(item: T): number {
    return this.times[item.slot] as number;
  }

  /** Takes `item`, which must stand in this queue, out of turn. */
  discard(item: T): void {
    this.items[item.slot] = undefined;
    item.slot = -1;
    this.size--;
    this.dead++;
    if (this.dead >= SWEPT_FROM && this.dead > this.size) this.sweep();
  }

  /** Whether the first entry is the calendar's; there must be one. */
  private calendarIsFirst(): boolean {
    const { calendar, lane } = this;
    if (calendar.count === 0) return false;
    if (lane.count === 0) return true;
    return calendar.firstTime === lane.time ? calendar.firstOrder < lane.firstOrder : calendar.firstTime < lane.time;
  }

  /** Drops dead entries until a living one is first. */
  private dropDead(): void {
    const { calendar, lane } = this;
    while (this.dead > 0) {
      const fromCalendar = this.calendarIsFirst();
      const slot = fromCalendar ? calendar.firstSlot : lane.firstSlot;
      if (this.items[slot] !== undefined) return;
      this.freeSlots.push(fromCalendar ? calendar.removeFirst() : lane.removeFirst());
      this.dead--;
    }
  }

  private sweep(): void {
    const keeps = (slot: number): boolean => {
      if (this.items[slot] !== undefined) return true;
      this.freeSlots.push(slot);
      return false;
    };
    this.calendar.filter(keeps);
    this.lane.filter(keeps);
    this.dead = 0;
  }
}
