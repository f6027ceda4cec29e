import type { Effect } from './effect.ts';
import { createOneShot, type OneShot } from './one-shot.ts';

/** Counts activities under way, for callers that wait until there are none. */
export interface Activity {
  begin(): void;
  end(): void;
  readonly isIdle: boolean;
  /** Waits until nothing is under way: not at all if nothing is now. */
  idle(): Effect<void>;
}

/** @param what what is under way, for messages */
export function createActivity(what: string): Activity {
  let count = 0;
  let rest: OneShot<void> | undefined;
  return {
    begin: () => {
      count++;
    },
    end: () => {
      count--;
      if (count > 0) return;
      rest?.succeed();
      rest = undefined;
    },
    get isIdle() {
      return count === 0;
    },
    idle: () => {
      rest ??= createOneShot(`the end of ${what}`);
      const effect = rest.wait();
      if (count === 0) {
        rest.succeed();
        rest = undefined;
      }
      return effect;
    },
  };
}
