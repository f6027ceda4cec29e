import type { RandomStream } from '../../../engine/input/random-stream.ts';

/** Draws choices and keeps count of how surprising they were. */
export interface Dice {
  /** −ln of the probability of everything drawn so far, in nats. */
  readonly nats: number;
  /** One of the items, all equally likely. */
  pick<T>(items: readonly T[]): T;
  /** One of the items other than `taken`. */
  other<T>(items: readonly T[], ...taken: readonly T[]): T;
  /** A whole number from low to high, both included. */
  number(low: number, high: number): number;
  /** An item by its weight. */
  weighted<T>(items: readonly (readonly [weight: number, item: T])[]): T;
}

export function createDice(random: RandomStream): Dice {
  let nats = 0;
  const pick = <T>(items: readonly T[]): T => {
    nats += Math.log(items.length);
    return random.pick(items);
  };
  return {
    get nats() {
      return nats;
    },
    pick,
    other: (items, ...taken) => pick(items.filter((item) => !taken.includes(item))),
    number(low, high) {
      nats += Math.log(high - low + 1);
      return random.integer(low, high);
    },
    weighted<T>(items: readonly (readonly [number, T])[]): T {
      const total = items.reduce((sum, [weight]) => sum + weight, 0);
      let left = random.next() * total;
      const found = items.find(([weight]) => {
        left -= weight;
        return left < 0;
      });
      const [weight, item] = found ?? (items[0] as readonly [number, T]);
      nats -= Math.log(weight / total);
      return item;
    },
  };
}
