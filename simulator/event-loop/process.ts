import type { Clock, Scheduled } from './clock.ts';
import type { Effect, Steps, Waiter } from './effect.ts';
import { Interrupt, ProcessError } from './errors.ts';
import { createOneShot, type OneShot } from './one-shot.ts';

/**
 * Steps under way, made by `simulation.spawn`. A model joins and interrupts it; `settled`, `resume` and `due` are for
 * the event loop.
 */
export class Process<Result> implements Waiter, Scheduled {
  slot = -1;
  /** Whether it has returned or failed. */
  hasEnded = false;
  private readonly end: OneShot<Result>;
  /** What it waits for, or waited for last; `undefined` before its first turn, and while an interrupt is scheduled. */
  private effect: Effect<unknown> | undefined = undefined;
  /** The interrupt that is scheduled to be thrown. */
  private thrown: Interrupt | undefined = undefined;
  /** Causes of interrupts that came while it was not waiting: they end its next waits. */
  private readonly interrupts: unknown[] = [];

  constructor(
    readonly clock: Clock,
    readonly name: string,
    /** Lower goes first at the same instant. */
    readonly priority: number,
    private readonly steps: Steps<Result>,
    private readonly onEnd: (process: Process<unknown>) => void,
  ) {
    this.end = createOneShot(`the end of process "${name}"`);
    clock.schedule(this, clock.now, priority);
  }

  /** What it waits for, after the words "waits for"; `undefined` if it does not wait. */
  get waitsFor(): string | undefined {
    return this.effect?.state === 'waiting' ? this.effect.source.describe(this.effect) : undefined;
  }

  /**
   * Waits for the end and results in what the process returns. If the process fails, everyone who waits gets its
   * ProcessError; if nobody waits, `run` throws it.
   */
  join(): Effect<Result> {
    return this.end.wait();
  }

  /**
   * Throws an Interrupt with `cause` into the process, at this instant, in its turn. What it waits for is given up. If
   * its wait is over and only its turn has not come, the interrupt ends its next wait.
   * @returns whether the process had not ended
   */
  interrupt(cause: unknown): boolean {
    if (this.hasEnded) return false;
    if (this.effect?.state === 'waiting') this.replaceWait(this.effect, cause);
    else this.interrupts.push(cause);
    return true;
  }

  settled(effect: Effect<unknown>): void {
    this.clock.schedule(effect, this.clock.now, this.priority);
  }

  resume(effect: Effect<unknown>): void {
    this.advance(effect.state === 'failed', effect.value);
  }

  /** The first turn, or that of an interrupt. */
  due(): void {
    const { thrown } = this;
    this.thrown = undefined;
    this.advance(thrown !== undefined, thrown);
  }

  /** Continues with a result or an error, through all waits that are over at once. */
  private advance(hasFailed: boolean, value: unknown): void {
    let step: IteratorResult<Effect<unknown>, Result>;
    try {
      step = hasFailed ? this.steps.throw(value) : this.steps.next(value);
      while (!step.done) {
        const effect = step.value;
        this.effect = effect;
        if (this.interrupts.length > 0) {
          this.replaceWait(effect, this.interrupts.shift());
          return;
        }
        if (!effect.begin(this)) return;
        step = effect.state === 'failed' ? this.steps.throw(effect.value) : this.steps.next(effect.value);
      }
    } catch (error) {
      this.fail(error);
      return;
    }
    this.hasEnded = true;
    this.onEnd(this);
    this.end.succeed(step.value);
  }

  private fail(error: unknown): void {
    const { name, clock } = this;
    const failure = error instanceof ProcessError ? error : new ProcessError(name, clock.now, error);
    const { isAwaited } = this.end;
    this.hasEnded = true;
    this.onEnd(this);
    this.end.fail(failure);
    if (!isAwaited) throw failure;
  }

  /** Gives up what the process waits for, or is about to wait for; an interrupt takes its place. */
  private replaceWait(effect: Effect<unknown>, cause: unknown): void {
    this.thrown = new Interrupt(cause, effect.source.remaining?.(effect));
    this.effect = undefined;
    effect.giveUp();
    this.clock.schedule(this, this.clock.now, this.priority);
  }
}
