import { Effect, type Source } from './effect.ts';
import type { Simulation } from './simulation.ts';

/** A resource's own event: at most one time at which something is to be done. */
export interface Alarm {
  /** Moves the alarm to `time`. */
  set(time: number): void;
  clear(): void;
}

/** @param ring is called at the time set; it may set the alarm again */
export function createAlarm(simulation: Simulation, ring: () => void): Alarm {
  const source: Source<undefined> = {
    begin: () => {},
    due: ring,
    cancel: () => {},
    describe: () => 'an alarm',
  };
  const event: Effect<unknown> = new Effect<unknown, undefined>(source, undefined);
  const clear = (): void => {
    if (event.slot >= 0) simulation.unschedule(event);
  };
  return {
    clear,
    set(time) {
      clear();
      simulation.schedule(event, time, 0);
    },
  };
}
