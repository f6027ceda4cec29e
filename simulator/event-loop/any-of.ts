import type { Clock } from './clock.ts';
import { Effect, type Outcome, type Source, type Waiter } from './effect.ts';
import { list } from './errors.ts';

/** The first of several effects to end, and its result; `index` tells which type `value` has. */
export type First<Branches extends readonly Effect<unknown>[]> = {
  [Key in keyof Branches]: {
    readonly index: Key extends `${infer Index extends number}` ? Index : number;
    readonly value: Outcome<Branches[Key]>;
  };
}[number];

/**
 * Waits until the first of several effects is over; the others are given up as if they had never been requested. An error
 * counts as well, and is thrown. If several are over at once, the first in the list wins.
 * @throws RangeError if there are no effects
 */
export function anyOf<Branches extends readonly Effect<unknown>[]>(...branches: Branches): Effect<First<Branches>> {
  if (branches.length === 0) throw new RangeError('anyOf() of nothing would wait for ever');
  return new FirstOf(branches).effect as Effect<First<Branches>>;
}

class FirstOf implements Source<undefined>, Waiter {
  /** The wait as a whole. */
  readonly effect: Effect<unknown, undefined> = new Effect(this, undefined);
  private winner: Effect<unknown> | undefined = undefined;

  constructor(private readonly branches: readonly Effect<unknown>[]) {}

  get clock(): Clock {
    return this.effect.waiter.clock;
  }

  get priority(): number {
    return this.effect.waiter.priority;
  }

  begin(): void {
    for (const branch of this.branches) {
      if (branch.begin(this)) this.winner ??= branch;
      if (this.winner !== undefined) break;
    }
    if (this.winner !== undefined) this.end(this.winner);
  }

  /** If the beginning of one branch settles an earlier one, the winner is only noted, for `begin` to read. */
  settled(branch: Effect<unknown>): void {
    this.winner ??= branch;
    if (this.effect.state === 'waiting') this.end(this.winner);
  }

  /** The turn of the branch is the turn of the whole. */
  resume(branch: Effect<unknown>): void {
    this.winner ??= branch;
    this.giveUpAllBut(this.winner);
    this.effect.resume(this.result(this.winner));
  }

  cancel(): void {
    this.giveUpAllBut(undefined);
  }

  undo(): void {
    this.cancel();
  }

  describe(): string {
    const open = this.branches.filter(({ state }) => state === 'waiting');
    const each = open.map((branch) => branch.source.describe(branch));
    return `any of (${list(each, '; ')})`;
  }

  private end(winner: Effect<unknown>): void {
    this.giveUpAllBut(winner);
    if (winner.state === 'failed') this.effect.fail(winner.value);
    else this.effect.succeed(this.result(winner));
  }

  /** From the last to the first, so that items taken from one mailbox go back in their order. */
  private giveUpAllBut(winner: Effect<unknown> | undefined): void {
    for (const branch of this.branches.toReversed()) if (branch !== winner) branch.giveUp();
  }

  private result(winner: Effect<unknown>): unknown {
    return { index: this.branches.indexOf(winner), value: winner.value };
  }
}
