import { Effect, type Source } from './effect.ts';

/** Something that happens once, for everyone who waits for it now or later. */
export interface OneShot<Result> {
  readonly state: 'pending' | 'succeeded' | 'failed';
  /** Whether anyone waits for it now. */
  readonly isAwaited: boolean;
  wait(): Effect<Result>;
  /** @throws Error if it has happened already */
  succeed(result: Result): void;
  /** Throws `error` into everyone who waits. @throws Error if it has happened already */
  fail(error: unknown): void;
}

/** @param what what happens, for messages: `the arrival of layer 3`; a function if the text is costly to make */
export function createOneShot<Result = void>(what: string | (() => string)): OneShot<Result> {
  return new SingleEvent<Result>(what);
}

class SingleEvent<Result> implements OneShot<Result>, Source<undefined> {
  state: 'pending' | 'succeeded' | 'failed' = 'pending';
  private value: unknown = undefined;
  /** In order of arrival; created for the first waiter, since most events are never waited for. */
  private waiting: Set<Effect<unknown>> | undefined = undefined;

  constructor(private readonly what: string | (() => string)) {}

  get isAwaited(): boolean {
    return this.waiting !== undefined && this.waiting.size > 0;
  }

  wait(): Effect<Result, undefined> {
    return new Effect(this, undefined);
  }

  succeed(result: Result): void {
    this.happen('succeeded', result);
  }

  fail(error: unknown): void {
    this.happen('failed', error);
  }

  begin(effect: Effect<unknown, undefined>): void {
    if (this.state !== 'pending') {
      this.settle(effect);
      return;
    }
    this.waiting ??= new Set();
    this.waiting.add(effect);
  }

  cancel(effect: Effect<unknown, undefined>): void {
    this.waiting?.delete(effect);
  }

  describe(): string {
    return typeof this.what === 'string' ? this.what : this.what();
  }

  private happen(state: 'succeeded' | 'failed', value: unknown): void {
    if (this.state !== 'pending') throw new Error(`${this.describe()} has happened already; it can happen once`);
    this.state = state;
    this.value = value;
    for (const effect of this.waiting ?? []) this.settle(effect);
    this.waiting = undefined;
  }

  private settle(effect: Effect<unknown>): void {
    if (this.state === 'succeeded') effect.succeed(this.value);
    else effect.fail(this.value);
  }
}

/** Something that happens once a number of things have arrived. */
export interface Countdown {
  arrive(): void;
  wait(): Effect<void>;
}

/** @param what what happens, for messages */
export function createCountdown(what: string, count: number): Countdown {
  const complete = createOneShot(what);
  let missing = count;
  if (missing === 0) complete.succeed();
  return {
    arrive() {
      missing -= 1;
      if (missing === 0) complete.succeed();
    },
    wait: () => complete.wait(),
  };
}
