import type { Process } from './process.ts';
import type { Scheduled, Simulation } from './simulation.ts';

/**
 * What a process does, as a generator function: each effect that it yields is waited for. `yield effect` where no
 * result is wanted, `const result = yield* effect` where it is; `yield* other()` runs the steps of another generator.
 */
export type Steps<Result = void> = Generator<Effect<unknown>, Result, unknown>;

/** What an effect results in. */
export type Outcome<E> = E extends Effect<infer Result> ? Result : never;

/** Where effects come from: the clock, a resource, an event. It begins them, ends them, and takes them back. */
export interface Source<Detail> {
  /** Starts to serve; may call `effect.succeed` or `effect.fail` at once. */
  begin(effect: Effect<unknown, Detail>): void;
  /** The moment has come for which the source scheduled the effect. Ends with `effect.resume`, if it ends the effect. */
  due?(effect: Effect<unknown, Detail>): void;
  /** The effect is given up while it waits: as if it had not been asked for, but for what was served already. */
  cancel(effect: Effect<unknown, Detail>): void;
  /** The effect is given up after it succeeded, before anyone saw the result: takes the result back, if it can be. */
  undo?(effect: Effect<unknown, Detail>): void;
  /** What is left to be done for an effect that is new or waits: seconds or bytes. */
  remaining?(effect: Effect<unknown, Detail>): number | undefined;
  /** What the effect waits for, after the words "waits for". */
  describe(effect: Effect<unknown, Detail>): string;
}

/** Whoever an effect is for: a process, or an effect made of several. */
export interface Waiter {
  readonly simulation: Simulation;
  /** The process that waits in the end. */
  readonly process: Process<unknown>;
  /** The effect is over; something else is going on at this moment, so that a process has to wait its turn. */
  settled(effect: Effect<unknown>): void;
  /** The effect is over, and it is the waiter's turn. */
  resume(effect: Effect<unknown>): void;
}

type State = 'new' | 'beginning' | 'waiting' | 'succeeded' | 'failed' | 'given up';

/**
 * Something that can be waited for, once. It begins when a process yields it, or something that it is part of.
 *
 * All effects are of this one class, and differ by their source and what that keeps as `detail`: the engine's loops
 * meet one shape of objects.
 */
export class Effect<Result, Detail = unknown> implements Scheduled {
  slot = -1;
  state: State = 'new';
  /** The result, or the error. */
  value: unknown = undefined;
  private owner: Waiter | undefined = undefined;

  constructor(
    readonly source: Source<Detail>,
    public detail: Detail,
  ) {}

  /** Who waits; there is nobody before the effect begins. */
  get waiter(): Waiter {
    return this.owner as Waiter;
  }

  /** Whether the wait is over, with a result or an error. */
  get isOver(): boolean {
    return this.state === 'succeeded' || this.state === 'failed';
  }

  /** @returns whether it is over at once; then the waiter is not told */
  begin(waiter: Waiter): boolean {
    if (this.state !== 'new') throw new Error('an effect can be waited for once: make another');
    this.owner = waiter;
    this.state = 'beginning';
    this.source.begin(this);
    if (this.isOver) return true;
    this.state = 'waiting';
    return false;
  }

  succeed(result: Result): void {
    this.settle('succeeded', result);
  }

  fail(error: unknown): void {
    this.settle('failed', error);
  }

  /** Succeeds, and lets the waiter go on: the last thing that a source does when the effect is due. */
  resume(result: Result): void {
    this.state = 'succeeded';
    this.value = result;
    this.waiter.resume(this);
  }

  /** Its moment has come: for the waiter to go on if it is over, else for the source to act. */
  due(): void {
    if (this.isOver) this.waiter.resume(this);
    else this.source.due?.(this);
  }

  /** Ends the wait without a result, whatever the state. */
  giveUp(): void {
    const { state } = this;
    this.state = 'given up';
    if (state === 'waiting') this.source.cancel(this);
    if (state === 'succeeded') this.source.undo?.(this);
  }

  /** The process of the waiter. */
  get process(): Process<unknown> {
    return this.waiter.process;
  }

  /** `yield*` asks for an iterator: the effect is its own, yields itself and returns the result. */
  [Symbol.iterator](): Iterator<Effect<unknown>, Result, unknown> {
    if (this.state !== 'new') throw new Error('an effect can be waited for once: make another');
    return this;
  }

  next(value: unknown): IteratorResult<Effect<unknown>, Result> {
    if (this.state === 'new') return { done: false, value: this };
    return { done: true, value: value as Result };
  }

  throw(error: unknown): never {
    throw error;
  }

  private settle(state: 'succeeded' | 'failed', value: unknown): void {
    const isWaiting = this.state === 'waiting';
    this.state = state;
    this.value = value;
    if (isWaiting) this.waiter.settled(this);
  }
}
