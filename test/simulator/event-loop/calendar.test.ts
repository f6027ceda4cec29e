import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { randomStream } from '../../../engine/input/random-stream.ts';
import { EventCalendar } from '../../../simulator/event-loop/calendar.ts';
import { EventHeap } from '../../../simulator/event-loop/heap.ts';

const DELAYS: Record<string, (uniform: number) => number> = {
  'spread evenly': (uniform) => 0.5 + uniform,
  'of whole seconds': (uniform) => Math.floor(4 * uniform),
  'all the same': () => 1,
  'in two crowds': (uniform) => (uniform < 0.4 ? 1e-6 * uniform : 1e3 + 1e-6 * uniform),
  'far or never': (uniform) => (uniform < 0.1 ? Number.POSITIVE_INFINITY : uniform < 0.3 ? 1e9 : uniform),
  exponential: (uniform) => (-Math.log(1 - uniform)) ** 3,
  'too short for the clock': (uniform) => Number.MIN_VALUE * Math.floor(9 * uniform),
};

for (const [kind, delayOf] of Object.entries(DELAYS)) {
  test(`thousands of entries that come and go have the order of a heap, with delays ${kind}`, () => {
    const { next } = randomStream(1, kind);
    const calendar = new EventCalendar(() => {});
    const heap = new EventHeap();
    let [now, order] = [0, 0];
    const step = (share: number): void => {
      if (heap.count === 0 || next() < share) {
        const time = now + delayOf(next());
        calendar.push(time, order, order);
        heap.push(time, order, order);
        order++;
      } else {
        now = heap.firstTime;
        assert.equal([calendar.firstTime, calendar.firstOrder], [now, heap.firstOrder]);
        assert.is(calendar.removeFirst(), heap.removeFirst());
        if (now === Number.POSITIVE_INFINITY) now = 0;
      }
      assert.is(calendar.count, heap.count);
    };
    // They grow to some 8000, stay, lose two of three, grow again, and shrink to none.
    for (let index = 0; index < 10_000; index++) step(0.9);
    for (let index = 0; index < 10_000; index++) step(0.5);
    for (const queue of [calendar, heap]) queue.filter((slot) => slot % 3 === 0);
    for (let index = 0; index < 10_000; index++) step(0.7);
    for (const queue of [calendar, heap]) queue.filter((slot) => slot % 2 === 0);
    while (heap.count > 0) step(0.2);
    assert.ok(order > 15_000);
  });
}

test('each entry is announced ahead of its turn, but for the first bucket and what comes within the bucket at hand', () => {
  const announced = new Set<number>();
  const calendar = new EventCalendar((slot) => announced.add(slot));
  for (let slot = 0; slot < 10_000; slot++) calendar.push((slot * 7919) % 10_007, slot, slot);
  let seen = 0;
  while (calendar.count > 0) if (announced.has(calendar.removeFirst())) seen++;
  assert.ok(seen > 8000, `${seen} of 10,000`);
});

test.run();
