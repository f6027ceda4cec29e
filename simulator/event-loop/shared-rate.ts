import { Alarm } from './alarm.ts';
import { checkAmount } from './amount.ts';
import { Effect, type Source } from './effect.ts';
import { Level } from './level.ts';
import { EventQueue } from './queue.ts';
import type { Rate, RateOptions, RateUsage } from './rate.ts';
import type { Simulation } from './simulation.ts';

/** A transfer; `finish` is the virtual time at which it is complete. */
interface Transfer {
  readonly bytes: number;
  finish: number;
}

/**
 * A rate that all transfers under way share equally at every moment: processor sharing (Kleinrock 1967), as a disk
 * with deep queues or a fair link does it.
 *
 * Virtual time V counts the bytes that a transfer under way has received: dV/dt = rate / n with n transfers. One that
 * arrives at V with b bytes is complete at V + b, whoever comes and goes and however the rate changes; only the moment
 * at which V gets there moves: the first finish F is due at now + (F − V) n / rate (Parekh and Gallager 1993, Section
 * III, for equal weights). So a change costs O(log n): one entry of a queue ordered by finish, and one alarm.
 */
export function createSharedRate(simulation: Simulation, options: RateOptions): Rate {
  return new SharedRate(simulation, options);
}

class SharedRate implements Rate, Source<Transfer> {
  readonly name: string;
  rate: number;
  /** V, as of `since`. */
  private virtual = 0;
  private since: number;
  private bytes = 0;
  private completed = 0;
  private readonly finishes = new EventQueue<Effect<unknown, Transfer>>();
  private readonly transfers: Level;
  private readonly alarm: Alarm;

  constructor(
    private readonly simulation: Simulation,
    { name, rate }: RateOptions,
  ) {
    this.name = name;
    this.rate = checkAmount(rate, 'rate of', name);
    this.since = simulation.now;
    this.transfers = new Level(simulation.now);
    this.alarm = new Alarm(simulation, () => this.finish());
  }

  transfer(bytes: number): Effect<void, Transfer> {
    return new Effect(this, { bytes: checkAmount(bytes, 'transfer on', this.name), finish: 0 });
  }

  setRate(bytesPerSecond: number): void {
    checkAmount(bytesPerSecond, 'rate of', this.name);
    this.advance();
    this.rate = bytesPerSecond;
    this.setAlarm();
  }

  usage(): RateUsage {
    this.advance();
    const transfers = this.transfers.summary(this.simulation.now);
    const { busySeconds, busyShare } = transfers;
    return { busySeconds, utilisation: busyShare, bytes: this.bytes, completed: this.completed, transfers };
  }

  begin(effect: Effect<unknown, Transfer>): void {
    this.advance();
    effect.detail.finish = this.virtual + effect.detail.bytes;
    this.finishes.push(effect, effect.detail.finish, 0);
    this.transfers.add(1, this.simulation.now);
    this.setAlarm();
  }

  cancel(effect: Effect<unknown, Transfer>): void {
    this.advance();
    this.finishes.discard(effect);
    this.transfers.add(-1, this.simulation.now);
    this.setAlarm();
  }

  remaining(effect: Effect<unknown, Transfer>): number {
    if (effect.state === 'new') return effect.detail.bytes;
    this.advance();
    return Math.max(0, effect.detail.finish - this.virtual);
  }

  describe(effect: Effect<unknown, Transfer>): string {
    return `${effect.detail.bytes} bytes through "${this.name}" at ${this.rate} bytes/s`;
  }

  /** Moves V to now. */
  private advance(): void {
    const { now } = this.simulation;
    const count = this.finishes.size;
    if (count > 0) this.moveTo(this.virtual + ((now - this.since) * this.rate) / count);
    this.since = now;
  }

  private moveTo(virtual: number): void {
    this.bytes += this.finishes.size * (virtual - this.virtual);
    this.virtual = virtual;
  }

  /** The first finish is reached: exactly, whatever the rounding of the way there. */
  private finish(): void {
    const { finishes } = this;
    const { now } = this.simulation;
    let first = finishes.first();
    if (first !== undefined) this.moveTo(first.detail.finish);
    this.since = now;
    let last: Effect<unknown, Transfer> | undefined;
    while (first !== undefined && first.detail.finish === this.virtual) {
      last?.succeed(undefined);
      last = first;
      finishes.discard(first);
      this.completed++;
      this.transfers.add(-1, now);
      first = finishes.first();
    }
    // Whose turn comes next anyway goes on without an event of its own.
    const comesNext = this.simulation.isQuiet;
    if (!comesNext) last?.succeed(undefined);
    this.setAlarm();
    if (comesNext) last?.resume(undefined);
  }

  /** Sets the alarm to the first finish; V starts anew when nothing is under way, so that it stays exact. */
  private setAlarm(): void {
    const first = this.finishes.first();
    if (first === undefined) this.virtual = 0;
    if (first === undefined || this.rate === 0) this.alarm.clear();
    else {
      const ahead = Math.max(0, first.detail.finish - this.virtual);
      this.alarm.set(this.simulation.now + (ahead * this.finishes.size) / this.rate);
    }
  }
}
