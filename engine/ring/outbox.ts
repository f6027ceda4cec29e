import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Does sends one after another, as ZeroMQ's sockets need it; each says how it ended.
 * @param delay seconds that each waits before it goes, beside others: a slow link, where there is none
 */
export function createOutbox(delay = 0): (send: () => Promise<void>) => Promise<void> {
  let last: Promise<void> = Promise.resolve();
  let waiting = 0;
  return (send) => {
    const due = performance.now() + 1000 * delay;
    const late = async (): Promise<void> => {
      await sleep(due - performance.now());
      await send();
    };
    // Where nothing is before it, it goes at once: a turn of the event loop's queue is some ten microseconds.
    const sent = delay > 0 ? last.then(late) : waiting > 0 ? last.then(send) : (async () => send())();
    waiting += 1;
    const done = () => {
      waiting -= 1;
    };
    last = sent.then(done, done);
    return sent;
  };
}
