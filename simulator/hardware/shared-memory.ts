import { demandOf, ROUNDING, shareBandwidth, type Task } from '../../engine/cost/shared-memory.ts';
import { Alarm } from '../event-loop/clock.ts';
import { Effect, type Source } from '../event-loop/effect.ts';
import type { Simulation } from '../event-loop/simulation.ts';

/** A memory that several processors read at once. */
export interface SharedMemory {
  /** Does a task: in its own seconds while the bandwidth is enough for all, else as much slower as it gets less. */
  run(task: Task): Effect<void>;
}

/** @param bandwidth bytes per second of all tasks together */
export function createSharedMemory(simulation: Simulation, bandwidth: number): SharedMemory {
  return new FairMemory(simulation, bandwidth);
}

interface Running {
  readonly task: Task;
  /** Bytes per second that it asks for. */
  readonly demand: number;
  /** Seconds that are left of the task, were it alone, as of `since`. */
  left: number;
  /** Seconds of the task that pass in a second. */
  pace: number;
}

/**
 * Every task goes on at a pace between 0 and 1: its share of the bandwidth over what it asks for. Paces change only when
 * a task begins or ends, so one alarm stands at the first end.
 */
class FairMemory implements SharedMemory, Source<Running> {
  private since = 0;
  private readonly running: Effect<unknown, Running>[] = [];
  private readonly alarm: Alarm;

  constructor(
    private readonly simulation: Simulation,
    private readonly bandwidth: number,
  ) {
    this.alarm = new Alarm(simulation, () => this.finish());
  }

  run(task: Task): Effect<void, Running> {
    return new Effect(this, { task, demand: demandOf(task), left: task.seconds, pace: 1 });
  }

  begin(effect: Effect<unknown, Running>): void {
    this.advance();
    this.running.push(effect);
    this.settle();
  }

  cancel(effect: Effect<unknown, Running>): void {
    this.advance();
    this.running.splice(this.running.indexOf(effect), 1);
    this.settle();
  }

  remaining(effect: Effect<unknown, Running>): number {
    if (effect.state !== 'new') this.advance();
    return effect.detail.left;
  }

  describe({ detail: { task } }: Effect<unknown, Running>): string {
    return `${task.bytes} bytes of memory traffic in ${task.seconds} s or more`;
  }

  private advance(): void {
    const { now } = this.simulation;
    for (const { detail } of this.running) detail.left = Math.max(0, detail.left - (now - this.since) * detail.pace);
    this.since = now;
  }

  /** New paces, and the alarm at the first end. */
  private settle(): void {
    let wanted = 0;
    for (const { detail } of this.running) wanted += detail.demand;
    // Most of the time all get what they want.
    if (wanted <= this.bandwidth) for (const { detail } of this.running) detail.pace = 1;
    else this.share();
    if (this.running.length === 0) this.alarm.clear();
    else this.alarm.set(this.simulation.now + secondsLeft(this.first().detail));
  }

  private share(): void {
    const shares = shareBandwidth(
      this.running.map(({ detail }) => detail.demand),
      this.bandwidth,
    );
    this.running.forEach(({ detail }, index) => {
      detail.pace = detail.demand === 0 ? 1 : (shares[index] as number) / detail.demand;
    });
  }

  /** The first end is reached: exactly, whatever the rounding of the way there; with it what differs by rounding only. */
  private finish(): void {
    const first = this.first();
    this.advance();
    for (const effect of [...this.running]) {
      if (effect !== first && effect.detail.left > ROUNDING * effect.detail.task.seconds) continue;
      this.running.splice(this.running.indexOf(effect), 1);
      effect.succeed(undefined);
    }
    this.settle();
  }

  /** The task that ends first; of those at one time the one that began first. */
  private first(): Effect<unknown, Running> {
    return this.running.reduce((one, other) => (secondsLeft(other.detail) < secondsLeft(one.detail) ? other : one));
  }
}

function secondsLeft({ left, pace }: Running): number {
  return left / pace;
}
