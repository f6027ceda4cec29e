import { checkAmount } from './amount.ts';
import { Effect, type Source } from './effect.ts';
import { Level } from './level.ts';
import { EventQueue } from './queue.ts';
import type { Rate, RateOptions, RateUsage } from './rate.ts';
import type { Simulation } from './simulation.ts';

/** A transfer; `left` is what of its bytes is not moved yet, as of the last change. */
interface Transfer {
  readonly bytes: number;
  left: number;
}

/**
 * A rate that serves one transfer after another, in order of arrival, each with all of it: a queue of depth 1, a
 * serial bus, messages on one connection.
 */
export function createInOrderRate(simulation: Simulation, options: RateOptions): Rate {
  return new InOrderRate(simulation, options);
}

class InOrderRate implements Rate, Source<Transfer> {
  readonly name: string;
  rate: number;
  private since: number;
  private bytes = 0;
  private completed = 0;
  private current: Effect<unknown, Transfer> | undefined = undefined;
  private readonly line = new EventQueue<Effect<unknown, Transfer>>();
  private readonly transfers: Level;

  constructor(
    private readonly simulation: Simulation,
    { name, rate }: RateOptions,
  ) {
    this.name = name;
    this.rate = checkAmount(rate, 'rate of', name);
    this.since = simulation.now;
    this.transfers = new Level(simulation.now);
  }

  transfer(bytes: number): Effect<void, Transfer> {
    checkAmount(bytes, 'transfer on', this.name);
    return new Effect(this, { bytes, left: bytes });
  }

  setRate(bytesPerSecond: number): void {
    checkAmount(bytesPerSecond, 'rate of', this.name);
    this.advance();
    this.stop();
    this.rate = bytesPerSecond;
    this.go();
  }

  usage(): RateUsage {
    this.advance();
    const transfers = this.transfers.summary(this.simulation.now);
    const { busySeconds, busyShare } = transfers;
    return { busySeconds, utilisation: busyShare, bytes: this.bytes, completed: this.completed, transfers };
  }

  begin(effect: Effect<unknown, Transfer>): void {
    this.transfers.add(1, this.simulation.now);
    this.line.push(effect, 0, 0);
    if (this.current === undefined) this.next();
  }

  due(effect: Effect<unknown, Transfer>): void {
    this.bytes += effect.detail.left;
    this.completed++;
    this.transfers.add(-1, this.simulation.now);
    this.next();
    effect.resume(undefined);
  }

  cancel(effect: Effect<unknown, Transfer>): void {
    this.transfers.add(-1, this.simulation.now);
    if (effect === this.current) {
      this.advance();
      this.stop();
      this.next();
    } else this.line.discard(effect);
  }

  remaining(effect: Effect<unknown, Transfer>): number {
    this.advance();
    return effect.detail.left;
  }

  describe(effect: Effect<unknown, Transfer>): string {
    const { current } = this;
    const place = current === effect || current === undefined ? '' : ` (behind "${current.process.name}")`;
    return `${effect.detail.bytes} bytes through "${this.name}" at ${this.rate} bytes/s${place}`;
  }

  /** Takes the next transfer out of the line. */
  private next(): void {
    this.current = this.line.take();
    this.since = this.simulation.now;
    this.go();
  }

  private go(): void {
    const { current, rate, simulation } = this;
    if (current === undefined || rate === 0) return;
    simulation.schedule(current, simulation.now + current.detail.left / rate, current.process.priority);
  }

  private stop(): void {
    if (this.current !== undefined && this.rate > 0) this.simulation.unschedule(this.current);
  }

  /** Moves what the current transfer has moved since the last change. */
  private advance(): void {
    const { now } = this.simulation;
    if (this.current !== undefined) {
      const { detail } = this.current;
      const moved = Math.min(detail.left, (now - this.since) * this.rate);
      detail.left -= moved;
      this.bytes += moved;
    }
    this.since = now;
  }
}
