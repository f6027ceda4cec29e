import type { Scheduled, Simulation } from './simulation.ts';

/** A resource's own event: one moment, at most, at which it has something to do. */
export class Alarm implements Scheduled {
  slot = -1;

  /** @param due what is to be done; it may set the alarm again */
  constructor(
    private readonly simulation: Simulation,
    readonly due: () => void,
  ) {}

  /** Sets the alarm to `time`, wherever it stood. */
  set(time: number): void {
    this.clear();
    this.simulation.schedule(this, time, 0);
  }

  clear(): void {
    if (this.slot >= 0) this.simulation.unschedule(this);
  }
}
