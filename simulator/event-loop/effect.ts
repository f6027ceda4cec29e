import type { Clock, Scheduled } from './clock.ts';
import { seconds } from './errors.ts';

/**
 * The steps of a process, as a generator function: it waits for each effect that it yields. `yield effect` where no
 * result is wanted, `const result = yield* effect` where it is; `yield* other()` runs the steps of another generator.
 */
export type Steps<Result = void> = Generator<Effect<unknown>, Result, unknown>;

/** The result of an effect. */
export type Outcome<E> = E extends Effect<infer Result> ? Result : never;

/**
 * Origin of effects: the clock, a resource, an event. A source begins its effects, ends them and takes them back.
 */
export interface Source<Detail> {
  /** Starts to serve the effect; may call `effect.succeed` or `effect.fail` at once. */
  begin(effect: Effect<unknown, Detail>): void;
  /** The effect's scheduled moment has come. Calls `effect.resume` if that ends the effect. */
  due?(effect: Effect<unknown, Detail>): void;
  /** The effect is given up while it waits: undoes everything except what was served already. */
  cancel(effect: Effect<unknown, Detail>): void;
  /** The effect is given up after it succeeded, before anyone saw the result: takes the result back, if possible. */
  undo?(effect: Effect<unknown, Detail>): void;
  /** Work left for an effect that is new or waits: seconds or bytes. */
  remaining?(effect: Effect<unknown, Detail>): number | undefined;
  /** Object of the wait, after the words "waits for". */
  describe(effect: Effect<unknown, Detail>): string;
  /** The time at which an effect that begins now will be over, where only the clock decides that. */
  wakeTime?(effect: Effect<unknown, Detail>, now: number): number;
}

/** Waiter of an effect: a process, or an effect made of several. */
export interface Waiter {
  readonly clock: Clock;
  /** The priority of the process that waits in the end: lower goes first at the same instant. */
  readonly priority: number;
  /** The effect is over, but something else is going on at this moment, so a process has to wait for its turn. */
  settled(effect: Effect<unknown>): void;
  /** The effect is over, and it is the waiter's turn. */
  resume(effect: Effect<unknown>): void;
}

const USED = 'an effect can be waited for once: make another';

type State = 'new' | 'beginning' | 'waiting' | 'succeeded' | 'failed' | 'given up';

/**
 * Something that can be waited for, once. It begins when a process yields it, or yields something that it is part of.
 *
 * All effects are of this one class and differ by their source and by what the source keeps as `detail`, so that the
 * event loop sees one shape of objects and stays fast.
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

  /** The process that waits; defined once the effect has begun. */
  get waiter(): Waiter {
    return this.owner as Waiter;
  }

  /** Whether the wait is over, with a result or an error. */
  get isOver(): boolean {
    return this.state === 'succeeded' || this.state === 'failed';
  }

  /** @returns whether the effect is over at once; then the waiter is not notified */
  begin(waiter: Waiter): boolean {
    if (this.state !== 'new') throw new Error(USED);
    this.owner = waiter;
    this.state = 'beginning';
    this.source.begin(this);
    if (this.isOver) return true;
    this.state = 'waiting';
    return false;
  }

  /** Marks a new effect as used by a waiter that needs neither its source nor a result. */
  useUp(): void {
    if (this.state !== 'new') throw new Error(USED);
    this.state = 'succeeded';
  }

  succeed(result: Result): void {
    this.settle('succeeded', result);
  }

  fail(error: unknown): void {
    this.settle('failed', error);
  }

  /** Succeeds and resumes the waiter: the last thing that a source does when the effect is due. */
  resume(result: Result): void {
    this.state = 'succeeded';
    this.value = result;
    this.waiter.resume(this);
  }

  /** Its scheduled moment has come: resumes the waiter if the effect is over, else tells the source. */
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

  /** `yield*` asks for an iterator: the effect is its own iterator, yields itself and returns the result. */
  [Symbol.iterator](): Iterator<Effect<unknown>, Result, unknown> {
    if (this.state !== 'new') throw new Error(USED);
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

/** The effect's detail is the time at which the wait ends. */
const UNTIL: Source<number> = {
  begin: (effect) => effect.waiter.clock.schedule(effect, effect.detail, effect.waiter.priority),
  due: (effect) => effect.resume(undefined),
  cancel: (effect) => effect.waiter.clock.unschedule(effect),
  remaining: (effect) => (effect.state === 'new' ? undefined : effect.detail - effect.waiter.clock.now),
  describe: (effect) => describeWake(effect.detail),
  wakeTime: (effect) => effect.detail,
};

/** Description of a sleep until `time`, for error messages. */
export function describeWake(time: number): string {
  return `the clock to reach ${seconds(time)}`;
}

/** The effect's detail is a duration in seconds; once the effect waits, the time at which it ends. */
const DURATION: Source<number> = {
  ...UNTIL,
  begin(effect) {
    effect.detail += effect.waiter.clock.now;
    UNTIL.begin(effect);
  },
  remaining: (effect) => (effect.state === 'new' ? effect.detail : UNTIL.remaining?.(effect)),
  wakeTime: (effect, now) => now + effect.detail,
};

/**
 * Waits for `duration` seconds. With 0, everything that is already due at this instant goes first.
 * @throws RangeError if the duration is negative or not finite
 */
export function hold(duration: number): Effect<void, number> {
  return new Effect(DURATION, checkAmount(duration, 'hold'));
}

/**
 * Waits until the clock stands at `time`, which must not lie in the past. Several holds in a row end at the same time,
 * to the last bit, as one `holdUntil` whose time is the sum of their durations added one by one.
 */
export function holdUntil(time: number): Effect<void, number> {
  return new Effect(UNTIL, time);
}

/**
 * Returns `amount` (seconds, bytes or bytes per second) if it can be served.
 * @param what,name what the amount belongs to, for the message: `transfer on`, `disk`
 * @throws RangeError unless the amount is finite and at least 0
 */
export function checkAmount(amount: number, what: string, name?: string): number {
  if (amount >= 0 && amount < Number.POSITIVE_INFINITY) return amount;
  const where = name === undefined ? what : `${what} "${name}"`;
  throw new RangeError(`${where}: ${amount} is not a finite number, at least 0`);
}
