import { Alarm, type Clock } from './clock.ts';
import { checkAmount, Effect, type Source } from './effect.ts';
import { Level, type LevelSummary } from './level.ts';
import { EventQueue } from './queue.ts';

/** A disk or a link: something that moves bytes at a rate, which all transfers under way share. */
export interface SharedRate {
  readonly name: string;
  /** Bytes per second. */
  readonly rate: number;
  /**
   * Moves `bytes`. If given up, the bytes moved so far stay moved; an Interrupt says how many remain.
   * @throws RangeError if the bytes are negative or not finite
   */
  transfer(bytes: number): Effect<void>;
  /**
   * Changes the rate from now on, for transfers under way as well; at 0 they stand still.
   * @throws RangeError if the rate is negative or not finite
   */
  setRate(bytesPerSecond: number): void;
  usage(): RateUsage;
}

/** Activity of a rate since it was created. */
export interface RateUsage {
  /** Seconds in which there was a transfer, even at rate 0. */
  readonly busySeconds: number;
  /** Share of the time that was busy. */
  readonly utilisation: number;
  /** Bytes moved, including those of transfers that are under way or were given up. */
  readonly bytes: number;
  /** Transfers that ended. */
  readonly completed: number;
  /** Transfers under way. */
  readonly transfers: LevelSummary;
}

export interface RateOptions {
  readonly name: string;
  /** Bytes per second. */
  readonly rate: number;
}

/** A transfer; `finish` is the virtual time at which it is complete. */
interface Transfer {
  readonly bytes: number;
  finish: number;
}

/**
 * Creates a rate that all transfers under way share equally at every moment: processor sharing (Kleinrock 1967), the
 * behaviour of a disk with deep queues or of a fair link.
 *
 * Virtual time V counts the bytes that a transfer under way has received: dV/dt = rate / n with n transfers. One that
 * arrives at V with b bytes is complete at V + b, whoever comes and goes and however the rate changes; only the moment
 * at which V gets there moves: the first finish F is due at now + (F − V) n / rate (Parekh and Gallager 1993, Section
 * III, for equal weights). So a change costs O(log n): one entry of a queue ordered by finish, and one alarm.
 */
export function createSharedRate(clock: Clock, options: RateOptions): SharedRate {
  return new ProcessorSharing(clock, options);
}

class ProcessorSharing implements SharedRate, Source<Transfer> {
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
    private readonly clock: Clock,
    { name, rate }: RateOptions,
  ) {
    this.name = name;
    this.rate = checkAmount(rate, 'rate of', name);
    this.since = clock.now;
    this.transfers = new Level(clock.now);
    this.alarm = new Alarm(clock, () => this.finish());
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
    const transfers = this.transfers.summary(this.clock.now);
    const { busySeconds, busyShare } = transfers;
    return { busySeconds, utilisation: busyShare, bytes: this.bytes, completed: this.completed, transfers };
  }

  begin(effect: Effect<unknown, Transfer>): void {
    this.advance();
    effect.detail.finish = this.virtual + effect.detail.bytes;
    this.finishes.push(effect, effect.detail.finish, 0);
    this.transfers.add(1, this.clock.now);
    this.setAlarm();
  }

  cancel(effect: Effect<unknown, Transfer>): void {
    this.advance();
    this.finishes.discard(effect);
    this.transfers.add(-1, this.clock.now);
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
    const { now } = this.clock;
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
    const { now } = this.clock;
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
    // If this transfer's turn comes next anyway, it resumes without an event of its own.
    const comesNext = this.clock.isQuiet;
    if (!comesNext) last?.succeed(undefined);
    this.setAlarm();
    if (comesNext) last?.resume(undefined);
  }

  /** Sets the alarm to the first finish. V restarts at 0 when nothing is under way, so that it stays exact. */
  private setAlarm(): void {
    const first = this.finishes.first();
    if (first === undefined) this.virtual = 0;
    if (first === undefined || this.rate === 0) this.alarm.clear();
    else {
      const ahead = Math.max(0, first.detail.finish - this.virtual);
      this.alarm.set(this.clock.now + (ahead * this.finishes.size) / this.rate);
    }
  }
}
