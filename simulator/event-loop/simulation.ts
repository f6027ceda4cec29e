import type { Clock, Scheduled } from './clock.ts';
import { describeWake, type Effect, type Steps, type Waiter } from './effect.ts';
import { DeadlockError, Interrupt, ProcessError, seconds, type Waiting } from './errors.ts';
import { createOneShot, type OneShot } from './one-shot.ts';
import { EventQueue, LARGEST_PRIORITY } from './queue.ts';

/** Rarely needed state, allocated on first use, so that idle processes stay small and more of them fit in cache. */
interface Rare<Result> {
  readonly end: OneShot<Result>;
  /** The interrupt that is scheduled to be thrown. */
  thrown: Interrupt | undefined;
  /** Causes of interrupts that came while it was not waiting: they end its next waits. */
  readonly interrupts: unknown[];
}

/**
 * Steps under way, made by `simulation.spawn`. A model joins and interrupts it; `settled`, `resume` and `due` are for
 * the event loop.
 */
export class Process<Result> implements Waiter, Scheduled {
  slot = -1;
  private readonly steps: Steps<Result>;
  /**
   * The effect that it waits for, or waited for last; `undefined` before its first turn, after it has slept, and while
   * an interrupt is scheduled.
   */
  private effect: Effect<unknown> | undefined = undefined;
  /**
   * A wait that only the clock can end is a sleep: the process itself goes into the queue, and no effect object is kept
   * alive.
   */
  private isAsleep = false;
  /** An interrupt is scheduled, or ends the next wait. */
  private isInterrupted = false;
  /** Whether it has returned or failed. */
  hasEnded = false;
  readonly clock: Clock;
  /** Lower goes first at the same instant. */
  readonly priority: number;
  readonly name: string;
  private readonly onEnd: (process: Process<unknown>) => void;
  private made: Rare<Result> | undefined = undefined;

  constructor(
    clock: Clock,
    name: string,
    priority: number,
    steps: Steps<Result>,
    onEnd: (process: Process<unknown>) => void,
  ) {
    this.steps = steps;
    this.clock = clock;
    this.priority = priority;
    this.name = name;
    this.onEnd = onEnd;
    clock.schedule(this, clock.now, priority);
  }

  private get rare(): Rare<Result> {
    this.made ??= {
      end: createOneShot<Result>(() => `the end of process "${this.name}"`),
      thrown: undefined,
      interrupts: [],
    };
    return this.made;
  }

  /** Object of its wait, after the words "waits for"; `undefined` if it does not wait. */
  get waitsFor(): string | undefined {
    if (this.isAsleep) return describeWake(this.clock.timeOf(this));
    return this.effect?.state === 'waiting' ? this.effect.source.describe(this.effect) : undefined;
  }

  /**
   * Waits for the end and results in what the process returns. If the process fails, everyone who waits gets its
   * ProcessError; if nobody waits, `run` throws it.
   */
  join(): Effect<Result> {
    return this.rare.end.wait();
  }

  /**
   * Throws an Interrupt with `cause` into the process, at this instant, in its turn. What it waits for is given up. If
   * its wait is over and only its turn has not come, the interrupt ends its next wait.
   * @returns whether the process had not ended
   */
  interrupt(cause: unknown): boolean {
    if (this.hasEnded) return false;
    this.isInterrupted = true;
    if (this.isAsleep) this.wakeUp(cause);
    else if (this.effect?.state === 'waiting') this.replaceWait(this.effect, cause);
    else this.rare.interrupts.push(cause);
    return true;
  }

  /** Touches the generator's header to bring it into cache. The result must be used, or the JIT removes the read. */
  touch(): void {
    if (this.steps.next === undefined) throw new TypeError(`process "${this.name}": its steps are no generator`);
  }

  settled(effect: Effect<unknown>): void {
    this.clock.schedule(effect, this.clock.now, this.priority);
  }

  resume(effect: Effect<unknown>): void {
    this.advance(effect.state === 'failed', effect.value);
  }

  /** The first turn, the end of a sleep, or an interrupt. */
  due(): void {
    this.isAsleep = false;
    if (this.isInterrupted) this.throwInterrupt();
    else this.advance(false, undefined);
  }

  /** Throws the interrupt that is scheduled, if one is: at the first turn it may have been too early for that. */
  private throwInterrupt(): void {
    const { rare } = this;
    const { thrown } = rare;
    rare.thrown = undefined;
    this.isInterrupted = rare.interrupts.length > 0;
    this.advance(thrown !== undefined, thrown);
  }

  /** Continues with a result or an error, through all waits that are over at once. */
  private advance(hasFailed: boolean, value: unknown): void {
    let step: IteratorResult<Effect<unknown>, Result>;
    try {
      step = hasFailed ? this.steps.throw(value) : this.steps.next(value);
      while (!step.done) {
        const effect = step.value;
        const { source } = effect;
        if (this.isInterrupted) {
          this.replaceWait(effect, this.rare.interrupts.shift());
          return;
        }
        if (source.wakeTime !== undefined) {
          effect.useUp();
          this.sleep(source.wakeTime(effect, this.clock.now));
          return;
        }
        this.effect = effect;
        if (!effect.begin(this)) return;
        step = effect.state === 'failed' ? this.steps.throw(effect.value) : this.steps.next(effect.value);
      }
    } catch (error) {
      this.fail(error);
      return;
    }
    this.hasEnded = true;
    this.onEnd(this);
    this.rare.end.succeed(step.value);
  }

  private fail(error: unknown): void {
    const { rare, clock } = this;
    const failure = error instanceof ProcessError ? error : new ProcessError(this.name, clock.now, error);
    const { isAwaited } = rare.end;
    this.hasEnded = true;
    this.onEnd(this);
    rare.end.fail(failure);
    if (!isAwaited) throw failure;
  }

  private sleep(wakeTime: number): void {
    this.effect = undefined;
    this.isAsleep = true;
    this.clock.schedule(this, wakeTime, this.priority);
  }

  /** An interrupt takes the place of the rest of the sleep. */
  private wakeUp(cause: unknown): void {
    const { clock } = this;
    this.rare.thrown = new Interrupt(cause, clock.timeOf(this) - clock.now);
    this.isAsleep = false;
    clock.unschedule(this);
    clock.schedule(this, clock.now, this.priority);
  }

  /** Gives up what the process waits for, or is about to wait for; an interrupt takes its place. */
  private replaceWait(effect: Effect<unknown>, cause: unknown): void {
    this.rare.thrown = new Interrupt(cause, effect.source.remaining?.(effect));
    this.effect = undefined;
    effect.giveUp();
    this.clock.schedule(this, this.clock.now, this.priority);
  }
}

/** Why a run ended: every process has ended, the given time was reached, or the given process has ended. */
export type RunEnd = 'all-ended' | 'time-reached' | 'process-ended';

/**
 * A discrete-event simulation: processes that wait, and a clock that jumps from event to event. The same processes
 * give the same order of events, bit by bit: at one time the lower priority goes first, and within a priority the event
 * that was scheduled first.
 *
 * ```ts
 * const simulation = createSimulation();
 * const disk = createSharedRate(simulation, { name: 'disk', rate: 3e9 });
 * const loaded = createMailbox<number>(simulation, { name: 'loaded layers' });
 * function* load(): Steps {
 *   for (let layer = 0; layer < 80; layer++) {
 *     yield disk.transfer(6e8);
 *     yield loaded.put(layer);
 *   }
 * }
 * function* compute(): Steps<number> {
 *   let layer = 0;
 *   while (layer < 79) {
 *     layer = yield* loaded.take();
 *     yield hold(0.15);
 *   }
 *   return simulation.now;
 * }
 * simulation.spawn('load', load());
 * const main = simulation.spawn('compute', compute());
 * simulation.run(main); // 16.15 s: a layer comes every 0.2 s, and is computed while the next one is on its way
 * ```
 */
export interface Simulation extends Clock {
  /**
   * Starts a process at this instant, in its turn.
   * @param name for messages
   * @param priority lower goes first at the same instant; 0 unless given
   * @throws RangeError if the priority is not a whole number from −255 to 255
   */
  spawn<Result>(name: string, steps: Steps<Result>, priority?: number): Process<Result>;
  /**
   * Runs until nothing is left to happen, or through all that happens by the time `until`, or to the end of a process.
   * @throws ProcessError if a process fails and no other waits for it
   * @throws DeadlockError if nothing is left to happen, whatever `until`, but processes wait
   * @throws RangeError if `until` lies in the past
   */
  run(until?: number | Process<unknown>): RunEnd;
  /** Every process that waits, in the order of their start. */
  waiting(): Waiting[];
}

export function createSimulation(): Simulation {
  return new EventLoop();
}

class EventLoop implements Simulation {
  now = 0;
  private isRunning = false;
  private readonly events = new EventQueue<Scheduled>();
  /** Processes that have not ended, in the order of their start. */
  private readonly processes = new Set<Process<unknown>>();
  private readonly forget = (process: Process<unknown>): void => {
    this.processes.delete(process);
  };

  spawn<Result>(name: string, steps: Steps<Result>, priority = 0): Process<Result> {
    if (!Number.isInteger(priority) || Math.abs(priority) > LARGEST_PRIORITY) {
      const allowed = `a whole number from −${LARGEST_PRIORITY} to ${LARGEST_PRIORITY}`;
      throw new RangeError(`process "${name}": priority ${priority} is not ${allowed}`);
    }
    const process = new Process(this, name, priority, steps, this.forget);
    this.processes.add(process);
    return process;
  }

  run(until?: number | Process<unknown>): RunEnd {
    if (this.isRunning) throw new Error('run: the simulation runs already');
    const limit = typeof until === 'number' ? until : Number.POSITIVE_INFINITY;
    if (!(limit >= this.now)) throw new RangeError(`run(${limit}): it is ${seconds(this.now)} already`);
    this.isRunning = true;
    try {
      return this.runTo(limit, until instanceof Process ? until : undefined);
    } finally {
      this.isRunning = false;
    }
  }

  private runTo(limit: number, goal: Process<unknown> | undefined): RunEnd {
    const { events } = this;
    while (goal === undefined || !goal.hasEnded) {
      const item = events.take(limit);
      if (item === undefined) return this.endWithoutEvents(limit);
      this.now = events.time;
      item.due();
    }
    return 'process-ended';
  }

  private endWithoutEvents(limit: number): RunEnd {
    if (this.events.size > 0) {
      this.now = limit;
      return 'time-reached';
    }
    if (this.processes.size > 0) throw new DeadlockError(this.now, this.waiting());
    return 'all-ended';
  }

  waiting(): Waiting[] {
    return [...this.processes].flatMap(({ name, waitsFor }) =>
      waitsFor === undefined ? [] : [{ process: name, waitsFor }],
    );
  }

  schedule(item: Scheduled, time: number, priority: number): void {
    this.events.push(item, time, priority);
  }

  get isQuiet(): boolean {
    return this.events.firstTime > this.now;
  }

  unschedule(item: Scheduled): void {
    this.events.discard(item);
  }

  timeOf(item: Scheduled): number {
    return this.events.timeOf(item);
  }
}
