import { Effect, type Outcome, type Source, type Waiter } from './effect.ts';
import type { Process } from './process.ts';
import type { Simulation } from './simulation.ts';
import { list } from './text.ts';

/** Which of several effects was first, and its result; `index` tells which type `value` has. */
export type First<Branches extends readonly Effect<unknown>[]> = {
  [Key in keyof Branches]: {
    readonly index: Key extends `${infer Index extends number}` ? Index : number;
    readonly value: Outcome<Branches[Key]>;
  };
}[number];

/** The results of several effects, in their order. */
export type All<Branches extends readonly Effect<unknown>[]> = { [Key in keyof Branches]: Outcome<Branches[Key]> };

/**
 * Waits for the first of several effects to be over; the others are given up as if they had never been asked for. An
 * error counts as well, and is thrown. Of those that are over at once, the first in the list wins.
 * @throws RangeError without any effects
 */
export function anyOf<Branches extends readonly Effect<unknown>[]>(...branches: Branches): Effect<First<Branches>> {
  if (branches.length === 0) throw new RangeError('anyOf() of nothing would wait for ever');
  return new Combination('any', branches).effect as Effect<First<Branches>>;
}

/** Waits for all effects, which go on at the same time. The first error is thrown, and the others are given up. */
export function allOf<Branches extends readonly Effect<unknown>[]>(...branches: Branches): Effect<All<Branches>> {
  return new Combination('all', branches).effect as Effect<All<Branches>>;
}

class Combination implements Source<undefined>, Waiter {
  /** The whole, of which the branches are parts. */
  readonly effect: Effect<unknown, undefined> = new Effect(this, undefined);
  /** Branches that have to succeed yet. */
  private left: number;
  /** The branch that ends the wait: the first of `any`, or one that fails. */
  private decisive: Effect<unknown> | undefined = undefined;

  constructor(
    private readonly kind: 'any' | 'all',
    private readonly branches: readonly Effect<unknown>[],
  ) {
    this.left = branches.length;
  }

  get simulation(): Simulation {
    return this.effect.waiter.simulation;
  }

  get process(): Process<unknown> {
    return this.effect.waiter.process;
  }

  begin(): void {
    for (const branch of this.branches) {
      if (branch.begin(this)) this.note(branch);
      if (this.decisive !== undefined) break;
    }
    if (this.isDecided) this.end();
  }

  /** A branch that is settled by the beginning of the next one only leaves a note, for `begin` to read. */
  settled(branch: Effect<unknown>): void {
    this.note(branch);
    if (this.isDecided && this.effect.state === 'waiting') this.end();
  }

  /** The turn of the branch is the turn of the whole. */
  resume(branch: Effect<unknown>): void {
    this.note(branch);
    if (!this.isDecided) return;
    if (this.decisive !== undefined) this.giveUpAllBut(this.decisive);
    this.effect.resume(this.result());
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
    return `${this.kind} of (${list(each, '; ')})`;
  }

  private note(branch: Effect<unknown>): void {
    if (this.kind === 'any' || branch.state === 'failed') this.decisive ??= branch;
    else this.left--;
  }

  private get isDecided(): boolean {
    return this.decisive !== undefined || this.left === 0;
  }

  private end(): void {
    if (this.decisive !== undefined) this.giveUpAllBut(this.decisive);
    if (this.decisive?.state === 'failed') this.effect.fail(this.decisive.value);
    else this.effect.succeed(this.result());
  }

  /** From the last to the first, so that items taken from one mailbox go back in their order. */
  private giveUpAllBut(winner: Effect<unknown> | undefined): void {
    for (const branch of this.branches.toReversed()) if (branch !== winner) branch.giveUp();
  }

  private result(): unknown {
    const { decisive, branches } = this;
    if (decisive === undefined) return branches.map(({ value }) => value);
    return { index: branches.indexOf(decisive), value: decisive.value };
  }
}
