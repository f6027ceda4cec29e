import type { Queued } from './queue.ts';

/** Something with a moment at which it is due: an effect, a process, a resource's alarm. */
export interface Scheduled extends Queued {
  due(): void;
}

/** A simulation as effects, processes and resources see it: the time, and what is scheduled. */
export interface Clock {
  /** Simulated time, seconds since the simulation began. */
  readonly now: number;
  /** Nothing else is scheduled for this instant, so that whatever is scheduled for it now comes next. */
  readonly isQuiet: boolean;
  /** Calls `item.due()` at `time`, now or later. An item is scheduled for one time at most. */
  schedule(item: Scheduled, time: number, priority: number): void;
  /** Takes a scheduled item back. */
  unschedule(item: Scheduled): void;
  /** The time for which an item is scheduled. */
  timeOf(item: Scheduled): number;
}

/** A resource's own event: the next moment, if any, at which the resource has something to do. */
export class Alarm implements Scheduled {
  slot = -1;

  /** @param due what is to be done then; it may set the alarm again */
  constructor(
    private readonly clock: Clock,
    readonly due: () => void,
  ) {}

  /** Sets the alarm to `time`, whether or not it was set. */
  set(time: number): void {
    this.clear();
    this.clock.schedule(this, time, 0);
  }

  clear(): void {
    if (this.slot >= 0) this.clock.unschedule(this);
  }
}
