import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Steps } from '../../../simulator/event-loop/effect.ts';
import { hold } from '../../../simulator/event-loop/hold.ts';
import { createInOrderRate } from '../../../simulator/event-loop/in-order-rate.ts';
import { createSimulation } from '../../../simulator/event-loop/simulation.ts';
import { near } from '../../support/near.ts';
import { createLog } from './log.ts';

test('one after the other, each at the full rate', () => {
  const simulation = createSimulation();
  const { lines, note } = createLog(simulation);
  const link = createInOrderRate(simulation, { name: 'link', rate: 10 });
  function* send(name: string, arrival: number, bytes: number): Steps {
    yield hold(arrival);
    yield link.transfer(bytes);
    note(name);
  }
  // a 0–3, b 3–4, empty at 4, c 6–8
  simulation.spawn('a', send('a', 0, 30));
  simulation.spawn('b', send('b', 1, 10));
  simulation.spawn('empty', send('empty', 2, 0));
  simulation.spawn('c', send('c', 6, 20));
  simulation.run();
  assert.equal(lines, ['3 a', '4 b', '4 empty', '8 c']);
  const { busySeconds, utilisation, bytes, completed, transfers } = link.usage();
  assert.equal([busySeconds, utilisation, bytes, completed], [6, 0.75, 60, 4]);
  // 1 for 1 s, 2 for 1 s, 3 for 1 s, 2 for 1 s, 1 for 2 s.
  assert.equal([transfers.most, transfers.integral], [3, 10]);
});

test('changes of the rate concern the transfer under way, by hand', () => {
  // a: 10 bytes/s until 2: 20 of 40; nothing until 5; 20 bytes/s: done at 6. b: 40 bytes in 2 s: done at 8.
  const simulation = createSimulation();
  const { lines, note } = createLog(simulation);
  const link = createInOrderRate(simulation, { name: 'link', rate: 10 });
  function* send(name: string): Steps {
    yield link.transfer(40);
    note(name);
  }
  function* operator(): Steps {
    yield hold(2);
    link.setRate(0);
    assert.is(link.usage().bytes, 20);
    yield hold(3);
    link.setRate(20);
    yield hold(0.5);
    assert.is(link.usage().bytes, 30);
  }
  simulation.spawn('a', send('a'));
  simulation.spawn('b', send('b'));
  simulation.spawn('operator', operator());
  simulation.run();
  assert.equal(lines, ['6 a', '8 b']);
  assert.is(link.usage().bytes, 80);
});

test('any arrivals: ends as by the recurrence end = max(arrival, end before) + bytes / rate', () => {
  const load = fc.record({
    gap: fc.double({ min: 0.001, max: 5, noNaN: true }),
    bytes: fc.double({ min: 0, max: 30, noNaN: true }),
  });
  fc.assert(
    fc.property(fc.array(load, { minLength: 1, maxLength: 40 }), (loads) => {
      const simulation = createSimulation();
      const link = createInOrderRate(simulation, { name: 'link', rate: 7 });
      const ends: number[] = [];
      const expected: number[] = [];
      function* send(arrival: number, bytes: number): Steps {
        yield hold(arrival);
        yield link.transfer(bytes);
        ends.push(simulation.now);
      }
      let arrival = 0;
      for (const { gap, bytes } of loads) {
        arrival += gap;
        expected.push(Math.max(arrival, expected.at(-1) ?? 0) + bytes / 7);
        simulation.spawn('sender', send(arrival, bytes));
      }
      simulation.run();
      ends.forEach((end, index) => {
        near(end, expected[index] as number);
      });
      assert.is(ends.length, loads.length);
      near(
        link.usage().bytes,
        loads.reduce((sum, { bytes }) => sum + bytes, 0),
      );
    }),
    { seed: 4, numRuns: 200 },
  );
});

test.run();
