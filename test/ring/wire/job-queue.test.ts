import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createOutbox } from '../../../engine/ring/wire/job-queue.ts';

/** The sent frames in order, and the seconds. */
async function send(delay: number, ...names: string[]): Promise<{ sent: string[]; seconds: number }> {
  const [outbox, sent, start] = [createOutbox(delay), [] as string[], performance.now()];
  const sends = names.map((name) =>
    outbox(async () => {
      sent.push(name);
      if (name === 'bad') throw new Error('gone');
    }).catch(() => {}),
  );
  await Promise.all(sends);
  return { sent, seconds: (performance.now() - start) / 1000 };
}

test('sends keep their order, even after one fails', async () => {
  assert.equal((await send(0, 'a', 'bad', 'b')).sent, ['a', 'bad', 'b']);
});

test('a delay is latency, so frames sent together arrive together', async () => {
  const { sent, seconds } = await send(0.2, 'a', 'b', 'c');
  assert.equal(sent, ['a', 'b', 'c']);
  assert.ok(seconds >= 0.19 && seconds < 0.6, `${seconds} s`); // not three times the delay
});

test.run();
