import { setTimeout as sleep } from 'node:timers/promises';
import { createJobQueue } from './job-queue.ts';

/**
 * Does sends one after another, as ZeroMQ's sockets need it; each says how it ended.
 * @param delay seconds that each waits before it goes, beside others: a slow link, where there is none
 */
export function createOutbox(delay = 0): (send: () => Promise<void>) => Promise<void> {
  const queue = createJobQueue();
  if (delay === 0) return queue.add;
  return (send) => {
    const due = performance.now() + 1000 * delay;
    return queue.add(async () => {
      await sleep(due - performance.now());
      await send();
    });
  };
}
