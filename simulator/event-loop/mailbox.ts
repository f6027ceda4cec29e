import { Effect, type Source } from './effect.ts';
import { Level, type LevelSummary } from './level.ts';
import { EventQueue } from './queue.ts';
import type { Simulation } from './simulation.ts';

/** A queue of items between processes, first in, first out. */
export interface Mailbox<Item> {
  readonly name: string;
  /** Adds an item behind the others; waits while the mailbox is full. What is in stays in. */
  put(item: Item): Effect<void>;
  /** Takes the first item; waits while there is none. Those who wait are served in the order of their coming. */
  take(): Effect<Item>;
  usage(): MailboxUsage;
}

/** From the making of the mailbox until now. */
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
  /** Items that it holds; any number unless given. */
  readonly capacity?: number;
}

/** @throws RangeError if the capacity is below 1 */
export function createMailbox<Item>(simulation: Simulation, options: MailboxOptions): Mailbox<Item> {
  return new Store<Item>(simulation, options);
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
    private readonly simulation: Simulation,
    { name, capacity = Number.POSITIVE_INFINITY }: MailboxOptions,
  ) {
    if (!(capacity >= 1)) throw new RangeError(`mailbox "${name}": capacity ${capacity} is below 1`);
    this.name = name;
    this.capacity = capacity;
    this.itemLevel = new Level(simulation.now);
    this.takerLevel = new Level(simulation.now);
    this.putterLevel = new Level(simulation.now);
  }

  put(item: Item): Effect<void, Item> {
    return new Effect(this.putting, item);
  }

  take(): Effect<Item, undefined> {
    return new Effect(this.taking, undefined);
  }

  usage(): MailboxUsage {
    const { now } = this.simulation;
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
        this.putterLevel.add(1, this.simulation.now);
      }
    },
    cancel: (effect) => {
      this.putters.discard(effect);
      this.putterLevel.add(-1, this.simulation.now);
    },
    describe: () => `room in mailbox "${this.name}"`,
  };

  private readonly taking: Source<undefined> = {
    begin: (effect) => {
      if (this.items.length === 0) {
        this.takers.push(effect, 0, 0);
        this.takerLevel.add(1, this.simulation.now);
        return;
      }
      const item = this.items.shift() as Item;
      this.itemLevel.add(-1, this.simulation.now);
      this.taken++;
      this.admit();
      effect.succeed(item);
    },
    cancel: (effect) => {
      this.takers.discard(effect);
      this.takerLevel.add(-1, this.simulation.now);
    },
    /** The item goes back to the front: to the next who waits, or beyond the capacity if another took its room. */
    undo: (effect) => {
      const item = effect.value as Item;
      this.taken--;
      if (this.handOver(item)) return;
      this.items.unshift(item);
      this.itemLevel.add(1, this.simulation.now);
    },
    describe: () => `an item in mailbox "${this.name}"`,
  };

  /** Gives the item to the first who waits for one, if anybody does. */
  private handOver(item: Item): boolean {
    const taker = this.takers.take();
    if (taker === undefined) return false;
    this.takerLevel.add(-1, this.simulation.now);
    this.taken++;
    taker.succeed(item);
    return true;
  }

  private store(item: Item): void {
    this.items.push(item);
    this.itemLevel.add(1, this.simulation.now);
  }

  /** Lets the first who waits for room put an item, if there is room again. */
  private admit(): void {
    if (this.putters.size === 0 || this.items.length >= this.capacity) return;
    const putter = this.putters.take() as Effect<unknown, Item>;
    this.putterLevel.add(-1, this.simulation.now);
    this.store(putter.detail);
    putter.succeed(undefined);
  }
}
