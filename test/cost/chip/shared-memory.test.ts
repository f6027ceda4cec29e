import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { concurrently, demandAtPace, shareBandwidth, type Task } from '../../../engine/cost/chip/shared-memory.ts';
import { near } from '../../support/near.ts';

test('a task that needs less than an equal share gets what it needs, and the others share the rest', () => {
  assert.equal(shareBandwidth([40, 10], 60), [40, 10]);
  assert.equal(shareBandwidth([43, 42], 60), [30, 30]);
  assert.equal(shareBandwidth([50, 10], 40), [30, 10]);
  assert.equal(shareBandwidth([5, 90, 80], 65), [5, 30, 30]);
  assert.equal(shareBandwidth([], 60), []);
});

test('two tasks within the bandwidth don’t slow each other down', () => {
  assert.equal(concurrently({ seconds: 2, bytes: 80 }, { seconds: 3, bytes: 60 }, 60), { first: 2, second: 3 });
});

test('demands of 43 and 42 at 60 bytes per second run at 30 each until one ends', () => {
  // 43 and 84 bytes: the first ends at 43/30 s; the second has 41 bytes left, at 42 per second.
  const { first, second } = concurrently({ seconds: 1, bytes: 43 }, { seconds: 2, bytes: 84 }, 60);
  near(first, 43 / 30);
  near(second, 43 / 30 + 41 / 42);
});

test('tasks with the demands of measured paces keep these paces next to each other, and all of their speed alone', () => {
  const task = (seconds: number, pace: number): Task => ({ seconds, bytes: 0, demand: demandAtPace(pace, 1000) });
  // Side by side the first has 0.8 of its speed and ends after 10 s, when the second has done 5 of its 7.
  const { first, second } = concurrently(task(8, 0.8), task(7, 0.5), 1000);
  near(first, 10);
  near(second, 12);
  assert.equal(concurrently(task(8, 1), task(7, 1), 1000), { first: 8, second: 7 });
  // A smaller pace than one half can't be told from it.
  near(concurrently(task(8, 0.1), task(8, 0.5), 1000).first, 16);
});

test('a task without traffic is not slowed down', () => {
  assert.equal(concurrently({ seconds: 5, bytes: 0 }, { seconds: 2, bytes: 200 }, 60).first, 5);
  assert.equal(concurrently({ seconds: 0, bytes: 0 }, { seconds: 2, bytes: 200 }, 150), { first: 0, second: 2 });
});

const task: fc.Arbitrary<Task> = fc.record({
  seconds: fc.double({ min: 0.1, max: 10, noNaN: true }),
  bytes: fc.double({ min: 0, max: 1000, noNaN: true }),
});

test('shares never exceed the bandwidth or the demand, and none is left while a demand is unmet', () => {
  fc.assert(
    fc.property(fc.array(fc.double({ min: 0, max: 100, noNaN: true }), { maxLength: 5 }), (demands) => {
      const shares = shareBandwidth(demands, 100);
      const sum = shares.reduce((total, share) => total + share, 0);
      assert.ok(shares.every((share, index) => share <= (demands[index] as number)));
      near(
        sum,
        Math.min(
          100,
          demands.reduce((total, demand) => total + demand, 0),
        ),
        1e-9,
      );
    }),
  );
});

test('two tasks together take at least as long as the longer one and at most as long as both in sequence', () => {
  fc.assert(
    fc.property(task, task, (first, second) => {
      const total = Math.max(first.bytes / first.seconds, second.bytes / second.seconds, 1);
      const ends = concurrently(first, second, total);
      const end = Math.max(ends.first, ends.second);
      assert.ok(end >= Math.max(first.seconds, second.seconds) * (1 - 1e-12));
      assert.ok(end <= (first.seconds + second.seconds) * (1 + 1e-9));
    }),
  );
});

test.run();
