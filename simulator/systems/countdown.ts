import type { Effect } from '../event-loop/effect.ts';
import { createOneShot } from '../event-loop/one-shot.ts';

/** Something that happens when a number of things have arrived. */
export interface Countdown {
  arrive(): void;
  wait(): Effect<void>;
}

/** @param what it is, for messages */
export function createCountdown(what: string, count: number): Countdown {
  const complete = createOneShot(what);
  let missing = count;
  if (missing === 0) complete.succeed();
  return {
    arrive() {
      missing -= 1;
      if (missing === 0) complete.succeed();
    },
    wait: () => complete.wait(),
  };
}
