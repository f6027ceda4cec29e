import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { EventQueue } from '../../../simulator/event-loop/queue.ts';

const item = (name: string) => ({ name, slot: -1 });

function drain(queue: EventQueue<ReturnType<typeof item>>): string {
  let names = '';
  for (let next = queue.take(); next !== undefined; next = queue.take()) names += next.name;
  return names;
}

test('entries are ordered by time, then priority, then insertion', () => {
  const queue = new EventQueue<ReturnType<typeof item>>();
  queue.push(item('f'), 2, 0);
  queue.push(item('c'), 1, 0);
  queue.push(item('e'), 1, 1);
  queue.push(item('d'), 1, 0);
  queue.push(item('b'), 1, -1);
  queue.push(item('a'), 0, 3);
  assert.is(drain(queue), 'abcdef');
  assert.is(queue.time, 2);
});

test('an entry at the current time follows equal entries and precedes later times', () => {
  const queue = new EventQueue<ReturnType<typeof item>>();
  queue.push(item('a'), 1, 0);
  queue.push(item('b'), 1, 0);
  queue.push(item('z'), 2, -9);
  assert.is(queue.take()?.name, 'a');
  queue.push(item('d'), 1, 0);
  queue.push(item('e'), 1, 5);
  queue.push(item('c'), 1, -5);
  queue.push(item('f'), 1, 5);
  assert.is(queue.first()?.name, 'c');
  assert.is(drain(queue), 'cbdefz');
});

test('a limit leaves later entries in the queue', () => {
  const queue = new EventQueue<ReturnType<typeof item>>();
  queue.push(item('a'), 1, 0);
  queue.push(item('b'), 2, 0);
  assert.equal(
    [queue.take(1.5)?.name, queue.take(1.5)?.name, queue.size, queue.take(2)?.name],
    ['a', undefined, 1, 'b'],
  );
});

/** The obvious queue: a sorted list. */
class SortedList {
  private sequence = 0;
  readonly entries: { name: string; time: number; priority: number; sequence: number }[] = [];
  push(name: string, time: number, priority: number): void {
    this.entries.push({ name, time, priority, sequence: this.sequence++ });
    this.entries.sort((a, b) => a.time - b.time || a.priority - b.priority || a.sequence - b.sequence);
  }
  take(): { name: string; time: number } | undefined {
    return this.entries.shift();
  }
  discard(name: string): void {
    this.entries.splice(
      this.entries.findIndex((entry) => entry.name === name),
      1,
    );
  }
}

test('any pushes, takes and discards give the same as a sorted list', () => {
  const step = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({ push: fc.integer({ min: 0, max: 6 }), priority: fc.integer({ min: -2, max: 2 }) }),
    },
    { weight: 2, arbitrary: fc.constant('take' as const) },
    { weight: 3, arbitrary: fc.record({ discard: fc.nat() }) },
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 400, size: 'max' }), (steps) => {
      const queue = new EventQueue<ReturnType<typeof item>>();
      const list = new SortedList();
      const inside = new Map<string, ReturnType<typeof item>>();
      steps.forEach((step, index) => {
        if (step === 'take') {
          assert.is(queue.first()?.name, list.entries[0]?.name);
          const taken = queue.take();
          const expected = list.take();
          assert.equal(
            [taken?.name, taken?.slot],
            expected === undefined ? [undefined, undefined] : [expected.name, -1],
          );
          if (expected !== undefined) assert.is(queue.time, expected.time);
          inside.delete(expected?.name ?? '');
        } else if ('push' in step) {
          const added = item(`${index}`);
          queue.push(added, queue.time + step.push, step.priority);
          list.push(added.name, queue.time + step.push, step.priority);
          inside.set(added.name, added);
        } else if (inside.size > 0) {
          const [name, victim] = [...inside][step.discard % inside.size] as [string, ReturnType<typeof item>];
          queue.discard(victim);
          list.discard(name);
          inside.delete(name);
        }
        assert.is(queue.size, list.entries.length);
      });
      assert.is(drain(queue), list.entries.map(({ name }) => name).join(''));
    }),
    { seed: 1, numRuns: 300 },
  );
});

test('removing discarded entries keeps the order of the others, now and later', () => {
  const queue = new EventQueue<ReturnType<typeof item>>();
  const items = Array.from({ length: 1000 }, (_, index) => item(String.fromCharCode(0x4e00 + index)));
  // Two of three are at time 0; the times of the others decrease.
  items.forEach((each, index) => {
    queue.push(each, index % 3 === 0 ? 1000 - index : 0, 0);
  });
  const stays = (index: number): boolean => index % 7 === 0;
  items.forEach((each, index) => {
    if (!stays(index)) queue.discard(each);
  });
  const alive = items.map((each, index) => ({ each, index })).filter(({ index }) => stays(index));
  const now = alive.filter(({ index }) => index % 3 !== 0);
  const later = alive.filter(({ index }) => index % 3 === 0).toReversed();
  assert.equal([queue.size, now.length, later.length], [143, 95, 48]);
  assert.is(drain(queue), [...now, ...later].map(({ each }) => each.name).join(''));
});

test('the memory of a million discarded future entries is released', () => {
  const queue = new EventQueue<{ slot: number }>();
  const slots = new Set<number>();
  for (let index = 0; index < 1e6; index++) {
    const timeout = { slot: -1 };
    queue.push(timeout, 1e9 + index, 0);
    slots.add(timeout.slot);
    queue.discard(timeout);
  }
  assert.is(queue.size, 0);
  assert.ok(slots.size < 100, `${slots.size} slots`);
});

test.run();
