import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Does sends one after another, as ZeroMQ's sockets need it; each says how it ended.
 * @param delay seconds that each waits before it goes, beside others: a slow link, where there is none
 */
export function createOutbox(delay = 0): (send: () => Promise<void>) => Promise<void> {
  let last: Promise<void> = Promise.resolve();
  return (send) => {
    const due = performance.now() + 1000 * delay;
    const late = async (): Promise<void> => {
      await sleep(due - performance.now());
      await send();
    };
    const sent = last.then(delay > 0 ? late : send);
    last = sent.catch(() => {});
    return sent;
  };
}
