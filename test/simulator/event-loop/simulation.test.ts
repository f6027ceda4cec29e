import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { randomStream } from '../../../engine/input/random-stream.ts';
import { anyOf } from '../../../simulator/event-loop/any-of.ts';
import { type Effect, hold, holdUntil, type Steps } from '../../../simulator/event-loop/effect.ts';
import { createMailbox } from '../../../simulator/event-loop/mailbox.ts';
import { createSharedRate } from '../../../simulator/event-loop/shared-rate.ts';
import { createSimulation, type Simulation } from '../../../simulator/event-loop/simulation.ts';
import { near } from '../../support/near.ts';
import { createLog } from './log.ts';

test('two clocks produce the expected log', () => {
  const simulation = createSimulation();
  const { lines, note } = createLog(simulation);
  function* clock(name: string, tick: number): Steps {
    for (let count = 0; count < 3; count++) {
      note(name);
      yield hold(tick);
    }
  }
  simulation.spawn('fast', clock('fast', 0.5));
  simulation.spawn('slow', clock('slow', 1));
  assert.is(simulation.run(), 'all-ended');
  assert.equal(lines, ['0 fast', '0 slow', '0.5 fast', '1 slow', '1 fast', '2 slow']);
  assert.is(simulation.now, 3);
});

test('many holds and one hold until their sum end at the identical instant', () => {
  const ends: number[] = [];
  for (const wait of [repeated, together]) {
    const simulation = createSimulation();
    simulation.run(simulation.spawn('waits', wait(simulation)));
    ends.push(simulation.now);
  }
  assert.is(ends[0], ends[1]);
  assert.is.not(ends[0], 0.7 + 10 * 0.1); // which rounds otherwise
});

function* repeated(): Steps {
  yield hold(0.7);
  for (let time = 0; time < 10; time++) yield hold(0.1);
}

function* together(simulation: Simulation): Steps {
  yield hold(0.7);
  let end = simulation.now;
  for (let time = 0; time < 10; time++) end += 0.1;
  yield holdUntil(end);
}

test('a transfer that ends does not overtake events of the same instant', () => {
  const simulation = createSimulation();
  const { lines, note } = createLog(simulation);
  const disk = createSharedRate(simulation, { name: 'disk', rate: 10 });
  function* read(bytes: number): Steps {
    yield disk.transfer(bytes);
    note('read');
  }
  function* clock(): Steps {
    yield hold(1);
    note('clock');
    yield hold(1);
    note('clock');
  }
  simulation.spawn('read', read(10));
  simulation.spawn('clock', clock());
  simulation.run();
  assert.equal(lines, ['1 clock', '1 read', '2 clock']);
});

test('loading overlaps computing', () => {
  const simulation = createSimulation();
  const disk = createSharedRate(simulation, { name: 'disk', rate: 3e9 });
  const loaded = createMailbox<number>(simulation, { name: 'loaded layers' });
  function* load(): Steps {
    for (let layer = 0; layer < 80; layer++) {
      yield disk.transfer(6e8);
      yield loaded.put(layer);
    }
  }
  function* compute(): Steps<number> {
    let layer = 0;
    while (layer < 79) {
      layer = yield* loaded.take();
      yield hold(0.15);
    }
    return simulation.now;
  }
  simulation.spawn('load', load());
  const main = simulation.spawn('compute', compute());
  assert.is(simulation.run(main), 'process-ended');
  // 80 layers arrive every 0.2 s; the last one is computed in 0.15 s.
  near(simulation.now, 80 * 0.2 + 0.15);
  near(disk.usage().busySeconds, 16);
});

test('at equal times the lower priority is first, then the event that was scheduled first', () => {
  const simulation = createSimulation();
  const { lines, note } = createLog(simulation);
  function* waker(name: string, ...holds: number[]): Steps {
    for (const seconds of holds) {
      yield hold(seconds);
      note(name);
    }
  }
  simulation.spawn('late', waker('late', 2, 1), 1);
  simulation.spawn('a', waker('a', 2, 1));
  simulation.spawn('b', waker('b', 1, 2)); // schedules its time 3 at time 1, before a does
  simulation.spawn('urgent', waker('urgent', 2, 1), -1);
  simulation.run();
  assert.equal(lines, ['1 b', '2 urgent', '2 a', '2 late', '3 urgent', '3 b', '3 a', '3 late']);
});

test('the priority of a process applies to all its waits', () => {
  const waits: ((simulation: Simulation, seconds: number) => Effect<unknown>)[] = [
    (_, seconds) => hold(seconds),
    (_, seconds) => anyOf(hold(seconds), hold(2)),
    (simulation, seconds) => createSharedRate(simulation, { name: 'disk', rate: 1 }).transfer(seconds),
    (simulation) => {
      function* child(): Steps {
        yield hold(1 - simulation.now);
      }
      return simulation.spawn('child', child()).join();
    },
  ];
  for (const wait of waits) {
    const simulation = createSimulation();
    const { lines, note } = createLog(simulation);
    function* waiter(name: string, start: number): Steps {
      yield hold(start);
      yield wait(simulation, 1 - start);
      note(name);
    }
    simulation.spawn('late', waiter('late', 0), 1);
    simulation.spawn('urgent', waiter('urgent', 0.5), -1);
    simulation.run();
    assert.equal(lines, ['1 urgent', '1 late']);
  }
});

test('hold(0) lets other processes of the same instant run first', () => {
  const simulation = createSimulation();
  const { lines, note } = createLog(simulation);
  function* polite(name: string): Steps {
    note(`${name} enters`);
    yield hold(0);
    note(`${name} leaves`);
  }
  simulation.spawn('a', polite('a'));
  simulation.spawn('b', polite('b'));
  simulation.run();
  assert.equal(lines, ['0 a enters', '0 b enters', '0 a leaves', '0 b leaves']);
});

test('yield* runs the steps of another generator and returns its typed result', () => {
  const simulation = createSimulation();
  const inbox = createMailbox<{ layer: number }>(simulation, { name: 'inbox' });
  function* receive(): Steps<number> {
    const message = yield* inbox.take();
    yield hold(message.layer);
    return message.layer + 1;
  }
  function* twice(): Steps<number> {
    const first: number = yield* receive();
    return first + (yield* receive());
  }
  function* send(): Steps {
    yield inbox.put({ layer: 10 });
    yield inbox.put({ layer: 20 });
  }
  function* main(): Steps<string> {
    const sum = yield* simulation.spawn('twice', twice()).join();
    return `${sum} at ${simulation.now}`;
  }
  function* observe(): Steps {
    result = yield* main();
  }
  let result = '';
  simulation.spawn('observe', observe());
  simulation.spawn('send', send());
  simulation.run();
  assert.is(result, '32 at 30');
});

test('run(until) includes that time, and a later run continues', () => {
  const simulation = createSimulation();
  const { lines, note } = createLog(simulation);
  function* ticks(): Steps {
    for (;;) {
      yield hold(1);
      note('tick');
    }
  }
  simulation.spawn('ticks', ticks());
  assert.is(simulation.run(2), 'time-reached');
  assert.is(simulation.run(2.5), 'time-reached');
  assert.equal([lines, simulation.now], [['1 tick', '2 tick'], 2.5]);
  assert.is(simulation.run(3), 'time-reached');
  assert.is(lines.length, 3);
  assert.throws(() => simulation.run(2), /run\(2\): it is 3 s already/);
});

test('run(process) ends with the process, while others wait', () => {
  const simulation = createSimulation();
  const orders = createMailbox<string>(simulation, { name: 'orders' });
  const served: string[] = [];
  function* servant(): Steps {
    for (;;) served.push(yield* orders.take());
  }
  function* guest(): Steps {
    yield orders.put('tea');
    yield hold(1);
  }
  simulation.spawn('servant', servant());
  const main = simulation.spawn('guest', guest());
  assert.is(simulation.run(main), 'process-ended');
  assert.equal([served, simulation.now, main.hasEnded], [['tea'], 1, true]);
  assert.equal(simulation.waiting(), [{ process: 'servant', waitsFor: 'an item in mailbox "orders"' }]);
});

test('waiting() lists what processes wait for', () => {
  const simulation = createSimulation();
  function* sleeper(): Steps {
    yield hold(0.1);
    yield hold(0.2);
  }
  function* watcher(): Steps {
    yield hold(0.25);
    // The observing process is not waiting, nor is a process before its first turn.
    simulation.spawn('newborn', sleeper());
    seen = simulation.waiting();
  }
  let seen: unknown;
  simulation.spawn('sleeper', sleeper());
  simulation.spawn('watcher', watcher());
  simulation.run();
  assert.equal(seen, [{ process: 'sleeper', waitsFor: 'the clock to reach 0.3 s' }]);
});

/** Workers with random pauses that share a disk and a mailbox and interrupt each other; returns the log. */
function randomModel(seed: number): readonly string[] {
  const simulation = createSimulation();
  const { lines, note } = createLog(simulation);
  const disk = createSharedRate(simulation, { name: 'disk', rate: 10 });
  const box = createMailbox<string>(simulation, { name: 'box', capacity: 3 });
  const stream = randomStream(seed, 'workers');
  function* worker(name: string): Steps {
    for (let round = 0; round < 20; round++) {
      try {
        yield disk.transfer(stream.integer(0, 9));
        if (stream.integer(0, 2) === 0) workers[stream.integer(0, 5)]?.interrupt(name);
        yield hold(stream.integer(0, 3));
      } catch (error) {
        note(`${name}: ${(error as Error).message}`);
      }
      try {
        const first = yield* anyOf(box.put(name), box.take(), hold(stream.integer(0, 2)));
        note(`${name} ${round} ${first.index}${first.index === 1 ? ` from ${first.value}` : ''}`);
      } catch (error) {
        note(`${name}: ${(error as Error).message}`);
      }
    }
  }
  const workers = [...'abcdef'].map((name) => simulation.spawn(name, worker(name), stream.integer(-1, 1)));
  simulation.run();
  return lines;
}

test('the log is determined by the seed', () => {
  const log = randomModel(1);
  assert.ok(log.length >= 120);
  assert.equal(randomModel(1), log);
  assert.not.equal(randomModel(2), log);
});

test.run();
