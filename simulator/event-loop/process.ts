import type { Effect, Steps, Waiter } from './effect.ts';
import { Interrupt } from './interrupt.ts';
import { createOneShot, type OneShot } from './one-shot.ts';
import { ProcessError } from './process-error.ts';
import type { Scheduled, Simulation } from './simulation.ts';

/** Makes an interrupt of what was left of the wait that it ends. */
type MakeInterrupt = (remaining: number | undefined) => Interrupt;

/**
 * Steps under way, made by `simulation.spawn`. A model joins and interrupts it; `settled`, `resume` and `due` are for
 * the kernel.
 */
export class Process<Result> implements Waiter, Scheduled {
  slot = -1;
  /** Whether it has returned or failed. */
  hasEnded = false;
  private readonly end: OneShot<Result>;
  /** What it waits for, or has waited for; undefined before its first turn, and while an interrupt is on its way. */
  private effect: Effect<unknown> | undefined = undefined;
  /** The interrupt that is on its way. */
  private thrown: Interrupt | undefined = undefined;
  /** Interrupts that found it not waiting: for its next waits. */
  private readonly interrupts: MakeInterrupt[] = [];

  constructor(
    readonly simulation: Simulation,
    readonly name: string,
    /** Lower goes first at the same instant. */
    readonly priority: number,
    private readonly steps: Steps<Result>,
    private readonly onEnd: (process: Process<unknown>) => void,
  ) {
    this.end = createOneShot(`the end of process "${name}"`);
    simulation.schedule(this, simulation.now, priority);
  }

  get process(): Process<unknown> {
    return this;
  }

  /** What it waits for, after the words "waits for"; undefined if it does not wait. */
  get waitsFor(): string | undefined {
    return this.effect?.state === 'waiting' ? this.effect.source.describe(this.effect) : undefined;
  }

  /**
   * Waits for the end; results in what the process returns. If it fails, those who wait get its ProcessError; if nobody
   * does, `run` throws it.
   */
  join(): Effect<Result> {
    return this.end.wait();
  }

  /**
   * Throws an Interrupt with `cause` into the process, at this instant, in its turn. What it waits for is given up. If
   * its wait is over and only its turn has not come, the interrupt hits its next wait.
   * @returns whether the process had not ended
   */
  interrupt(cause: unknown): boolean {
    return this.interruptWith((remaining) => new Interrupt(cause, remaining));
  }

  /** As `interrupt`, with an Interrupt of one's own. */
  interruptWith(make: MakeInterrupt): boolean {
    if (this.hasEnded) return false;
    if (this.effect?.state === 'waiting') this.replaceWait(this.effect, make);
    else this.interrupts.push(make);
    return true;
  }

  settled(effect: Effect<unknown>): void {
    this.simulation.schedule(effect, this.simulation.now, this.priority);
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

  /** Goes on with a result, or an error, through all waits that are over at once. */
  private advance(hasFailed: boolean, value: unknown): void {
    let step: IteratorResult<Effect<unknown>, Result>;
    try {
      step = hasFailed ? this.steps.throw(value) : this.steps.next(value);
      while (!step.done) {
        const effect = step.value;
        this.effect = effect;
        const make = this.interrupts.length === 0 ? undefined : this.interrupts.shift();
        if (make !== undefined) {
          this.replaceWait(effect, make);
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
    const { name, simulation } = this;
    const failure = error instanceof ProcessError ? error : new ProcessError(name, simulation.now, error);
    const { isAwaited } = this.end;
    this.hasEnded = true;
    this.onEnd(this);
    this.end.fail(failure);
    if (!isAwaited) throw failure;
  }

  /** Gives up what the process waits for, or is about to; an interrupt comes in its place. */
  private replaceWait(effect: Effect<unknown>, make: MakeInterrupt): void {
    this.thrown = make(effect.source.remaining?.(effect));
    this.effect = undefined;
    effect.giveUp();
    this.simulation.schedule(this, this.simulation.now, this.priority);
  }
}
