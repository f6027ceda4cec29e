/**
 * Whole numbers in the order in which they were added last, the oldest first: a linked list in typed arrays. A Set keeps the
 * same order, but its first member is behind all places that others have left, and a cache leaves one at every eviction.
 */
export class RecencyList implements Iterable<number> {
  size = 0;
  /** The neighbours of each member, by its number + 1; 0 is the end of the list. A member that is not in it is ABSENT. */
  private before: Int32Array;
  private after: Int32Array;

  /** @param capacity numbers below it are added without growing */
  constructor(capacity = 64) {
    this.before = new Int32Array(capacity + 1).fill(ABSENT);
    this.after = new Int32Array(capacity + 1);
    this.before[0] = 0;
  }

  has(member: number): boolean {
    return member + 1 < this.before.length && this.before[member + 1] !== ABSENT;
  }

  /** Adds a member as the youngest, which it must not be yet. */
  add(member: number): void {
    const own = member + 1;
    if (own >= this.before.length) this.grow(own);
    const last = this.before[0] as number;
    this.before[own] = last;
    this.after[own] = 0;
    this.after[last] = own;
    this.before[0] = own;
    this.size += 1;
  }

  /** @returns whether it was a member */
  remove(member: number): boolean {
    if (!this.has(member)) return false;
    const own = member + 1;
    const [previous, next] = [this.before[own] as number, this.after[own] as number];
    this.after[previous] = next;
    this.before[next] = previous;
    this.before[own] = ABSENT;
    this.size -= 1;
    return true;
  }

  /** The oldest member that isn't spared; `undefined` without one. */
  oldest(isSpared: (member: number) => boolean): number | undefined {
    for (let own = this.after[0] as number; own !== 0; own = this.after[own] as number)
      if (!isSpared(own - 1)) return own - 1;
    return undefined;
  }

  *[Symbol.iterator](): Iterator<number> {
    for (let own = this.after[0] as number; own !== 0; own = this.after[own] as number) yield own - 1;
  }

  private grow(own: number): void {
    const length = 2 * own + 1;
    const [before, after] = [new Int32Array(length).fill(ABSENT), new Int32Array(length)];
    before.set(this.before);
    after.set(this.after);
    this.before = before;
    this.after = after;
  }
}

const ABSENT = -1;
