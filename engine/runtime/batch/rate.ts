/** Seconds over which a rate is taken. */
const WINDOW = 5;

/** Events per second. */
export interface Rate {
  add(count: number): void;
  /** Rate over the last seconds; 0 if nothing happened in them. */
  readonly perSecond: number;
}

/** @param clock seconds */
export function createRate(clock: () => number): Rate {
  const events: { readonly time: number; readonly count: number }[] = [];
  const forgetOld = (now: number): void => {
    while (events[0] !== undefined && events[0].time < now - WINDOW) events.shift();
  };
  return {
    add(count) {
      const now = clock();
      forgetOld(now);
      events.push({ time: now, count });
    },
    get perSecond() {
      forgetOld(clock());
      return events.reduce((sum, { count }) => sum + count, 0) / WINDOW;
    },
  };
}
