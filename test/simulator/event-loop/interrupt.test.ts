import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { anyOf } from '../../../simulator/event-loop/any-of.ts';
import { type Effect, hold, type Steps } from '../../../simulator/event-loop/effect.ts';
import { Interrupt } from '../../../simulator/event-loop/errors.ts';
import { createMailbox } from '../../../simulator/event-loop/mailbox.ts';
import { createSharedRate } from '../../../simulator/event-loop/shared-rate.ts';
import { createSimulation, type Simulation } from '../../../simulator/event-loop/simulation.ts';
import { createLog } from './log.ts';

/** The remainder of the wait of a process that is interrupted at `time`. */
function remainingAfter(simulation: Simulation, wait: Effect<unknown>, time: number): number | undefined {
  let remaining: number | undefined;
  function* victim(): Steps {
    try {
      yield wait;
      assert.unreachable();
    } catch (error) {
      assert.instance(error, Interrupt);
      assert.is(simulation.now, time);
      remaining = (error as Interrupt).remaining;
    }
  }
  const process = simulation.spawn('victim', victim());
  function* interrupter(): Steps {
    yield hold(time);
    assert.ok(process.interrupt('enough'));
  }
  simulation.spawn('interrupter', interrupter());
  simulation.run();
  return remaining;
}

/** A process that only waits. */
function* waits(effect: Effect<unknown>): Steps {
  yield effect;
}

test('an interrupt has its cause and the remainder, and the process may continue', () => {
  const simulation = createSimulation();
  const { lines, note } = createLog(simulation);
  function* sleeper(): Steps {
    let left = 5;
    while (left > 0) {
      try {
        yield hold(left);
        left = 0;
      } catch (error) {
        if (!(error instanceof Interrupt)) throw error;
        left = error.remaining ?? 0;
        note(`woken by ${error.cause}, ${left} s to go`);
      }
    }
    note('rested');
  }
  const process = simulation.spawn('sleeper', sleeper());
  function* children(): Steps {
    for (const name of ['Ann', 'Bob']) {
      yield hold(1.5);
      process.interrupt(name);
    }
    yield hold(10);
    assert.is(process.interrupt('too late'), false);
  }
  simulation.spawn('children', children());
  simulation.run();
  assert.equal(lines, ['1.5 woken by Ann, 3.5 s to go', '3 woken by Bob, 2 s to go', '5 rested']);
});

test('an interrupt that is not caught ends the process like any error', () => {
  const simulation = createSimulation();
  const sleeper = simulation.spawn('sleeper', waits(hold(9)));
  function* main(): Steps {
    yield hold(1);
    sleeper.interrupt('alarm');
  }
  simulation.spawn('main', main());
  assert.throws(() => simulation.run(), /process "sleeper" failed at 1 s: interrupted: alarm/);
});

test('an interrupted transfer reports the remaining bytes, and the others speed up', () => {
  const simulation = createSimulation();
  const disk = createSharedRate(simulation, { name: 'disk', rate: 10 });
  const other = simulation.spawn('other', waits(disk.transfer(50)));
  let end = 0;
  function* observer(): Steps {
    yield other.join();
    end = simulation.now;
  }
  simulation.spawn('observer', observer());
  // Two at 5 bytes/s each for 4 s: 20 of 100 moved. The other then has 30 left at 10 bytes/s: done at 7.
  assert.is(remainingAfter(simulation, disk.transfer(100), 4), 80);
  assert.equal([end, disk.usage().bytes, disk.usage().completed], [7, 70, 1]);
});

test('an item goes to the next process if the first one is interrupted', () => {
  const simulation = createSimulation();
  const box = createMailbox<string>(simulation, { name: 'box' });
  let got = '';
  function* next(): Steps {
    yield hold(1);
    got = yield* box.take();
  }
  function* sender(): Steps {
    yield hold(5);
    yield box.put('parcel');
  }
  simulation.spawn('next', next());
  simulation.spawn('sender', sender());
  assert.is(remainingAfter(simulation, box.take(), 4), undefined);
  assert.equal([got, simulation.now], ['parcel', 5]);
});

test('an interrupt cancels all effects of a combined wait', () => {
  const simulation = createSimulation();
  const disk = createSharedRate(simulation, { name: 'disk', rate: 10 });
  const box = createMailbox<string>(simulation, { name: 'box' });
  const wait = anyOf(box.take(), anyOf(disk.transfer(1000), hold(500)));
  assert.is(remainingAfter(simulation, wait, 4), undefined);
  // No transfer or hold continues, and no process waits for the mailbox.
  assert.equal([simulation.now, disk.usage().bytes, box.usage().takers.now], [4, 40, 0]);
});

test('a nested wait that is cancelled at the instant of its success returns its result', () => {
  const simulation = createSimulation();
  const box = createMailbox<string>(simulation, { name: 'box' });
  let got = '';
  function* next(): Steps {
    yield hold(3);
    got = yield* box.take();
  }
  function* main(): Steps {
    yield box.put('parcel');
    // The beginning of the second branch settles the first; the parcel, taken by the third, goes back.
    const gate = createMailbox<string>(simulation, { name: 'gate' });
    const { index } = yield* anyOf(anyOf(gate.take(), hold(9)), gate.put('open'), box.take());
    assert.is(index, 0);
  }
  simulation.spawn('next', next());
  simulation.spawn('main', main());
  simulation.run();
  assert.equal([got, box.usage().taken, box.usage().items.now], ['parcel', 1, 0]);
});

test('an interrupt after the end of a wait applies to the next wait before it begins', () => {
  const simulation = createSimulation();
  const { lines, note } = createLog(simulation);
  const box = createMailbox<string>(simulation, { name: 'box' });
  const disk = createSharedRate(simulation, { name: 'disk', rate: 10 });
  function* receiver(): Steps {
    note(`got ${yield* box.take()}`);
    try {
      yield disk.transfer(30);
    } catch (error) {
      note(`${(error as Error).message}, ${(error as Interrupt).remaining} bytes to go`);
    }
  }
  const process = simulation.spawn('receiver', receiver());
  function* sender(): Steps {
    yield hold(1);
    yield box.put('parcel');
    process.interrupt('stop');
  }
  simulation.spawn('sender', sender());
  simulation.run();
  assert.equal(lines, ['1 got parcel', '1 interrupted: stop, 30 bytes to go']);
  assert.is(disk.usage().transfers.most, 0);
});

test('interrupts are ordered by the priority of their processes, lower first', () => {
  const simulation = createSimulation();
  const { lines, note } = createLog(simulation);
  function* sleeper(name: string): Steps {
    try {
      yield hold(10);
    } catch {
      note(name);
    }
  }
  const sleepers = [1, 0, -1].map((priority) => simulation.spawn('sleeper', sleeper(`${priority}`), priority));
  function* main(): Steps {
    yield hold(1);
    for (const each of sleepers) each.interrupt('all up');
  }
  simulation.spawn('main', main());
  simulation.run();
  assert.equal(lines, ['1 -1', '1 0', '1 1']);
});

test('interrupts of one instant are delivered in order, and those without a wait are lost', () => {
  const simulation = createSimulation();
  const { lines, note } = createLog(simulation);
  function* stubborn(): Steps {
    for (let count = 0; count < 3; count++) {
      try {
        yield hold(10);
        note('slept');
      } catch (error) {
        note((error as Error).message);
      }
    }
  }
  const process = simulation.spawn('stubborn', stubborn());
  process.interrupt('zero'); // before its first turn
  function* main(): Steps {
    yield hold(1);
    process.interrupt('one');
    process.interrupt('two');
    process.interrupt('three');
  }
  simulation.spawn('main', main());
  assert.is(simulation.run(), 'all-ended');
  assert.equal(lines, ['0 interrupted: zero', '1 interrupted: one', '1 interrupted: two']);
});

test.run();
