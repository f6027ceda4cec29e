/** Statistics of a level from its start until now. */
export interface LevelSummary {
  readonly now: number;
  /** Mean over time; 0 before any time has passed. */
  readonly mean: number;
  readonly most: number;
  /** Seconds in which the level was above zero, and their share of the time. */
  readonly busySeconds: number;
  readonly busyShare: number;
  /** ∫ level dt, in seconds times the level's unit. */
  readonly integral: number;
}

/**
 * A number of things over time: transfers on a link, items in a mailbox. Each value holds until the next. Its mean,
 * ∫ level dt / duration, is the L of Little's law L = λ W (Little 1961).
 */
export class Level {
  private value = 0;
  private most = 0;
  private since: number;
  private integral = 0;
  private busySeconds = 0;

  /** @param start time at which the level begins, seconds */
  constructor(private readonly start: number) {
    this.since = start;
  }

  add(difference: number, now: number): void {
    this.advance(now);
    this.value += difference;
    if (this.value > this.most) this.most = this.value;
  }

  summary(now: number): LevelSummary {
    this.advance(now);
    const { value, most, busySeconds, integral } = this;
    const duration = Math.max(now - this.start, Number.MIN_VALUE);
    return { now: value, mean: integral / duration, most, busySeconds, busyShare: busySeconds / duration, integral };
  }

  private advance(now: number): void {
    if (this.value > 0) {
      const elapsed = now - this.since;
      this.integral += this.value * elapsed;
      this.busySeconds += elapsed;
    }
    this.since = now;
  }
}
