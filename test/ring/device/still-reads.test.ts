import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type ReadCounts, STILL_SECONDS, watchReads } from '../../../engine/ring/device/still-reads.ts';

/** Waits for reads that take some seconds, and are counted by `count` of the seconds. */
async function watched(seconds: number, count: (seconds: number) => ReadCounts): Promise<string[]> {
  const events: string[] = [];
  const start = performance.now();
  await watchReads(sleep(1000 * seconds), {
    onStill: (still) => events.push(`still after ${still.toFixed(0)} s`),
    onMoved: () => events.push('moved'),
    counts: () => count((performance.now() - start) / 1000),
  });
  return events;
}

const nothing: ReadCounts = { fsRead: 0, majorPageFault: 0 };

test('reads that make no progress are reported once, and their end is reported too', async () => {
  assert.equal(await watched(STILL_SECONDS + 1.5, () => nothing), ['still after 3 s', 'moved']);
});

test('slow reads are not reported, however long they take and whichever way they are counted', async () => {
  const everySecond = (seconds: number): number => Math.floor(seconds);
  const [asReads, asFaults] = await Promise.all([
    watched(STILL_SECONDS + 1.5, (seconds) => ({ ...nothing, fsRead: everySecond(seconds) })),
    watched(STILL_SECONDS + 1.5, (seconds) => ({ ...nothing, majorPageFault: everySecond(seconds) })),
  ]);
  assert.equal([asReads, asFaults], [[], []]);
});

test('reads that end early, or fail, are not reported', async () => {
  assert.equal(await watched(0.4, () => nothing), []);
  const events: string[] = [];
  const failing = watchReads(Promise.reject(new Error('the disk is gone')), {
    onStill: () => events.push('still'),
    onMoved: () => events.push('moved'),
  });
  assert.is(await failing.catch(({ message }) => message), 'the disk is gone');
  assert.equal(events, []);
});

test.run();
