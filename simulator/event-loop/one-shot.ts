import { Effect, type Source } from './effect.ts';

/** Something that happens once, for everyone who waits for it now or later. */
export interface OneShot<Result> {
  readonly state: 'pending' | 'succeeded' | 'failed';
  /** Whether someone waits for it now. */
  readonly isAwaited: boolean;
  wait(): Effect<Result>;
  /** @throws Error if it has happened already */
  succeed(result: Result): void;
  /** Throws `error` into everyone who waits. @throws Error if it has happened already */
  fail(error: unknown): void;
}

/** @param what it is, for messages: `the arrival of layer 3`; a function where it takes time to say */
export function createOneShot<Result = void>(what: string | (() => string)): OneShot<Result> {
  return new Happening<Result>(what);
}

class Happening<Result> implements OneShot<Result>, Source<undefined> {
  state: 'pending' | 'succeeded' | 'failed' = 'pending';
  private value: unknown = undefined;
  /** In order of arrival; made for the first, for most events are awaited by nobody. */
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
      this.tell(effect);
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
    for (const effect of this.waiting ?? []) this.tell(effect);
    this.waiting = undefined;
  }

  private tell(effect: Effect<unknown>): void {
    if (this.state === 'succeeded') effect.succeed(this.value);
    else effect.fail(this.value);
  }
}
