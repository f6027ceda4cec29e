import { Effect, type Source, type Steps, type Waiter } from './effect.ts';
import { Interrupt } from './interrupt.ts';
import { createOneShot, type OneShot } from './one-shot.ts';
import { ProcessError } from './process-error.ts';
import type { Simulation } from './simulation.ts';

/** Makes an interrupt of what was left of the wait that it ends. */
type MakeInterrupt = (remaining: number | undefined) => Interrupt;

/** Where waits come from that need nothing but the process's turn: its start, and the delivery of an interrupt. */
const TURN: Source<undefined> = {
  begin: () => {},
  cancel: () => {},
  describe: () => 'its turn',
};

/** Steps under way. Made by `simulation.spawn`. */
export class Process<Result> implements Waiter {
  /** Whether it has returned or failed. */
  hasEnded = false;
  private readonly end: OneShot<Result>;
  /** What it waits for, or has waited for last. */
  private effect: Effect<unknown>;
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
    this.effect = this.awaitTurn();
    this.effect.succeed(undefined);
  }

  get process(): Process<unknown> {
    return this;
  }

  /** What it waits for, after the words "waits for"; undefined if it does not wait. */
  get waitsFor(): string | undefined {
    return this.effect.state === 'waiting' ? this.effect.source.describe(this.effect) : undefined;
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
    if (this.effect.state === 'waiting') this.replaceWait(make);
    else this.interrupts.push(make);
    return true;
  }

  settled(effect: Effect<unknown>): void {
    this.simulation.schedule(effect, this.simulation.now, this.priority);
  }

  /** Goes on with the outcome of `effect` until a wait is not over at once. */
  resume(effect: Effect<unknown>): void {
    let step: IteratorResult<Effect<unknown>, Result>;
    let over = effect;
    try {
      for (;;) {
        step = over.state === 'failed' ? this.steps.throw(over.value) : this.steps.next(over.value);
        if (step.done) break;
        over = step.value;
        this.effect = over;
        const make = this.interrupts.length === 0 ? undefined : this.interrupts.shift();
        if (make !== undefined) {
          this.replaceWait(make);
          return;
        }
        if (!over.begin(this)) return;
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

  /** Gives up what the process waits for, or is about to; the interrupt comes in its place. */
  private replaceWait(make: MakeInterrupt): void {
    const { effect } = this;
    const interrupt = make(effect.source.remaining?.(effect));
    effect.giveUp();
    this.effect = this.awaitTurn();
    this.effect.fail(interrupt);
  }

  private awaitTurn(): Effect<unknown> {
    const turn = new Effect<unknown, undefined>(TURN, undefined);
    turn.begin(this);
    return turn;
  }
}
