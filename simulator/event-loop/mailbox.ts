import type { Clock } from './clock.ts';
import { Effect, type Source } from './effect.ts';
import { Level, type LevelSummary } from './level.ts';
import { EventQueue } from './queue.ts';

/** A queue of items between processes, first in, first out. */
export interface Mailbox<Item> {
  readonly name: string;
  /** Adds an item at the end; waits while the mailbox is full. An item that has been added stays. */
  put(item: Item): Effect<void>;
  /** Takes the first item; waits while there is none. Processes that wait are served in the order of their arrival. */
  take(): Effect<Item>;
  usage(): MailboxUsage;
}

/** Activity of a mailbox since it was created. */
export interface MailboxUsage {
  /** Items handed over. */
  readonly taken: number;
  readonly items: LevelSummary;
  /** Processes that wait for an item, and for room. */
  readonly takers: LevelSummary;
  readonly putters: LevelSummary;
}

export interface MailboxOptions {
  readonly name: string;
  /** Items that it can hold; unlimited unless given. */
  readonly capacity?: number;
}

/** @throws RangeError if the capacity is below 1 */
export function createMailbox<Item>(clock: Clock, options: MailboxOptions): Mailbox<Item> {
  return new Store<Item>(clock, options);
}

class Store<Item> implements Mailbox<Item> {
  readonly name: string;
  private readonly capacity: number;
  private taken = 0;
  private readonly items: Item[] = [];
  private readonly takers = new EventQueue<Effect<unknown, undefined>>();
  private readonly putters = new EventQueue<Effect<unknown, Item>>();
  private readonly itemLevel: Level;
  private readonly takerLevel: Level;
  private readonly putterLevel: Level;

  constructor(
    private readonly clock: Clock,
    { name, capacity = Number.POSITIVE_INFINITY }: MailboxOptions,
  ) {
    if (!(capacity >= 1)) throw new RangeError(`mailbox "${name}": capacity ${capacity} is below 1`);
    this.name = name;
    this.capacity = capacity;
    this.itemLevel = new Level(clock.now);
    this.takerLevel = new Level(clock.now);
    this.putterLevel = new Level(clock.now);
  }

  put(item: Item): Effect<void, Item> {
    return new Effect(this.putting, item);
  }

  take(): Effect<Item, undefined> {
    return new Effect(this.taking, undefined);
  }

  usage(): MailboxUsage {
    const { now } = this.clock;
    return {
      taken: this.taken,
      items: this.itemLevel.summary(now),
      takers: this.takerLevel.summary(now),
      putters: this.putterLevel.summary(now),
    };
  }

  private readonly putting: Source<Item> = {
    begin: (effect) => {
      if (this.handOver(effect.detail)) effect.succeed(undefined);
      else if (this.items.length < this.capacity) {
        this.store(effect.detail);
        effect.succeed(undefined);
      } else {
        this.putters.push(effect, 0, 0);
        this.putterLevel.add(1, this.clock.now);
      }
    },
    cancel: (effect) => {
      this.putters.discard(effect);
      this.putterLevel.add(-1, this.clock.now);
    },
    describe: () => `room in mailbox "${this.name}"`,
  };

  private readonly taking: Source<undefined> = {
    begin: (effect) => {
      if (this.items.length === 0) {
        this.takers.push(effect, 0, 0);
        this.takerLevel.add(1, this.clock.now);
        return;
      }
      const item = this.items.shift() as Item;
      this.itemLevel.add(-1, this.clock.now);
      this.taken++;
      this.admit();
      effect.succeed(item);
    },
    cancel: (effect) => {
      this.takers.discard(effect);
      this.takerLevel.add(-1, this.clock.now);
    },
    /**
     * The item goes to the next process that waits, or back to the front, beyond the capacity if its room was taken.
     */
    undo: (effect) => {
      const item = effect.value as Item;
      this.taken--;
      if (this.handOver(item)) return;
      this.items.unshift(item);
      this.itemLevel.add(1, this.clock.now);
    },
    describe: () => `an item in mailbox "${this.name}"`,
  };

  /** Gives the item to the first process that waits for one, if any. */
  private handOver(item: Item): boolean {
    const taker = this.takers.take();
    if (taker === undefined) return false;
    this.takerLevel.add(-1, this.clock.now);
    this.taken++;
    taker.succeed(item);
    return true;
  }

  private store(item: Item): void {
    this.items.push(item);
    this.itemLevel.add(1, this.clock.now);
  }

  /** Lets the first process that waits for room put its item, if there is room again. */
  private admit(): void {
    if (this.putters.size === 0 || this.items.length >= this.capacity) return;
    const putter = this.putters.take() as Effect<unknown, Item>;
    this.putterLevel.add(-1, this.clock.now);
    this.store(putter.detail);
    putter.succeed(undefined);
  }
}
