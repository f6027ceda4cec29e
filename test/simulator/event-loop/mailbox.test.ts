import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { anyOf } from '../../../simulator/event-loop/any-of.ts';
import { hold, type Steps } from '../../../simulator/event-loop/effect.ts';
import { createMailbox } from '../../../simulator/event-loop/mailbox.ts';
import { createSimulation } from '../../../simulator/event-loop/simulation.ts';
import { createLog } from './log.ts';

test('items and takers are served in order', () => {
  const simulation = createSimulation();
  const { lines, note } = createLog(simulation);
  const box = createMailbox<number>(simulation, { name: 'box' });
  function* taker(name: string): Steps {
    note(`${name} ${yield* box.take()}`);
    note(`${name} ${yield* box.take()}`);
  }
  function* putter(): Steps {
    yield hold(1);
    for (const item of [1, 2, 3]) yield box.put(item);
    yield hold(1);
    yield box.put(4);
  }
  simulation.spawn('a', taker('a'));
  simulation.spawn('b', taker('b'));
  simulation.spawn('putter', putter());
  simulation.run();
  assert.equal(lines, ['1 a 1', '1 a 3', '1 b 2', '2 b 4']);
});

test('processes wait to put into a full mailbox, and their items keep their order', () => {
  const simulation = createSimulation();
  const { lines, note } = createLog(simulation);
  const box = createMailbox<string>(simulation, { name: 'box', capacity: 2 });
  function* putter(): Steps {
    for (const item of 'abcd') {
      yield box.put(item);
      note(`put ${item}`);
    }
  }
  function* taker(): Steps {
    for (let count = 0; count < 4; count++) {
      yield hold(1);
      note(`took ${yield* box.take()}`);
    }
  }
  simulation.spawn('putter', putter());
  simulation.spawn('taker', taker());
  simulation.run();
  assert.equal(lines, ['0 put a', '0 put b', '1 took a', '1 put c', '2 took b', '2 put d', '3 took c', '4 took d']);
  const { taken, items, takers, putters } = box.usage();
  // Two items until 3, one until 4; a process waits to put until 2, and none to take.
  assert.equal([taken, items.now, items.most, items.integral], [4, 0, 2, 7]);
  assert.equal([putters.most, putters.busySeconds, takers.most], [1, 2, 0]);
});

test('with any producers, consumers and timeouts every item is taken once and in its producer’s order', () => {
  const worker = fc.record({ items: fc.integer({ min: 0, max: 12 }), pause: fc.integer({ min: 0, max: 3 }) });
  fc.assert(
    fc.property(
      fc.array(worker, { minLength: 1, maxLength: 4 }),
      fc.array(worker, { minLength: 1, maxLength: 4 }),
      fc.integer({ min: 1, max: 4 }),
      (producers, consumers, capacity) => {
        const simulation = createSimulation();
        const box = createMailbox<string>(simulation, { name: 'box', capacity });
        const put: string[] = [];
        const taken: string[] = [];
        function* produce(name: number, items: number, pause: number): Steps {
          for (let item = 0; item < items; item++) {
            const { index } = yield* anyOf(box.put(`${name}/${String(item).padStart(2, '0')}`), hold(2));
            if (index === 0) put.push(`${name}/${String(item).padStart(2, '0')}`);
            yield hold(pause);
          }
        }
        function* consume(pause: number): Steps {
          for (let misses = 0; misses < 3; ) {
            const first = yield* anyOf(box.take(), hold(1));
            if (first.index === 0) taken.push(first.value);
            else misses++;
            yield hold(pause);
          }
        }
        for (const [index, { items, pause }] of producers.entries())
          simulation.spawn('producer', produce(index, items, pause));
        for (const { pause } of consumers) simulation.spawn('consumer', consume(pause));
        simulation.run();
        assert.is(taken.length + box.usage().items.now, put.length);
        assert.is(new Set(taken).size, taken.length);
        assert.ok(taken.every((item) => put.includes(item)));
        producers.forEach((_, index) => {
          const own = taken.filter((item) => item.startsWith(`${index}/`));
          assert.equal(own, own.toSorted());
        });
        assert.ok(box.usage().items.most <= capacity);
      },
    ),
    { seed: 2, numRuns: 200 },
  );
});

test.run();
