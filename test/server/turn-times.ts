import { closeSync, openSync, readSync } from 'node:fs';

/** Times of the calling thread, nanoseconds on a processor first. Linux alone has this file. */
const STATISTICS = '/proc/thread-self/schedstat';

/** The turns of the calling thread's event loop, in processor time: other programs of a busy machine don't count. */
export interface TurnTimes {
  /** Seconds of the longest turn since the last call. */
  longest(): number;
  stop(): void;
}

export function watchTurns(): TurnTimes {
  const file = openSync(STATISTICS, 'r');
  const bytes = Buffer.alloc(64);
  const seconds = (): number =>
    Number(bytes.toString('latin1', 0, readSync(file, bytes, 0, 64, 0)).split(' ')[0]) / 1e9;
  let [last, longest, isStopped] = [seconds(), 0, false];
  const turn = (): void => {
    if (isStopped) {
      closeSync(file);
      return;
    }
    const now = seconds();
    longest = Math.max(longest, now - last);
    last = now;
    setImmediate(turn);
  };
  turn();
  return {
    longest() {
      const found = longest;
      longest = 0;
      return found;
    },
    stop() {
      isStopped = true;
    },
  };
}
