import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { anyOf } from '../../../simulator/event-loop/any-of.ts';
import { hold, type Steps } from '../../../simulator/event-loop/effect.ts';
import { createMailbox } from '../../../simulator/event-loop/mailbox.ts';
import { createSharedRate } from '../../../simulator/event-loop/shared-rate.ts';
import { createSimulation } from '../../../simulator/event-loop/simulation.ts';
import { createLog } from './log.ts';

test('anyOf returns the first result with its index and type', () => {
  const simulation = createSimulation();
  const { lines, note } = createLog(simulation);
  const inbox = createMailbox<string>(simulation, { name: 'inbox' });
  function* receiver(): Steps {
    for (let count = 0; count < 2; count++) {
      const first = yield* anyOf(inbox.take(), hold(2));
      if (first.index === 0) note(`got ${first.value.toUpperCase()}`);
      else note('timeout');
    }
  }
  function* sender(): Steps {
    yield hold(1);
    yield inbox.put('mail');
  }
  simulation.spawn('receiver', receiver());
  simulation.spawn('sender', sender());
  simulation.run();
  assert.equal(lines, ['1 got MAIL', '3 timeout']);
});

test('of several effects that are over at once the first in the list wins, and the others have no effect', () => {
  const simulation = createSimulation();
  const left = createMailbox<number>(simulation, { name: 'left' });
  const right = createMailbox<number>(simulation, { name: 'right' });
  function* main(): Steps {
    yield left.put(1);
    yield right.put(2);
    const first = yield* anyOf(left.take(), right.take());
    assert.equal(first, { index: 0, value: 1 });
    assert.is(yield* right.take(), 2);
    yield left.put(3);
    yield anyOf(left.take(), right.put(4));
    assert.is(right.usage().items.now, 0);
  }
  simulation.spawn('main', main());
  simulation.run();
});

test('losing effects release items, room and bytes for others', () => {
  const simulation = createSimulation();
  const { lines, note } = createLog(simulation);
  const items = createMailbox<string>(simulation, { name: 'items' });
  const full = createMailbox<string>(simulation, { name: 'full', capacity: 1 });
  const disk = createSharedRate(simulation, { name: 'disk', rate: 10 });
  function* owner(): Steps {
    yield full.put('first');
  }
  function* loser(): Steps {
    // hold(1) wins over an item that arrives at 2, room that opens at 2, and 100 bytes that would take 10 s.
    const { index } = yield* anyOf(items.take(), full.put('lost'), disk.transfer(100), hold(1));
    note(`branch ${index}`);
  }
  function* others(): Steps {
    yield hold(2);
    yield items.put('kept');
    note(yield* full.take());
    note(yield* items.take());
    // Alone on the disk: 10 bytes in 1 s.
    yield disk.transfer(10);
    note('transferred');
  }
  simulation.spawn('owner', owner());
  simulation.spawn('loser', loser());
  simulation.spawn('others', others());
  simulation.run();
  assert.equal(lines, ['1 branch 3', '2 first', '2 kept', '3 transferred']);
  // The losing transfer had moved 10 bytes of 100.
  assert.is(disk.usage().bytes, 20);
  assert.is(full.usage().items.now, 0);
  assert.is(simulation.now, 3);
});

test('anyOf nests, and a process continues in the turn of an effect that is over', () => {
  const simulation = createSimulation();
  const { lines, note } = createLog(simulation);
  function* nested(): Steps {
    const first = yield* anyOf(anyOf(hold(3), hold(5)), anyOf(hold(2), hold(4)));
    note(`nested ${JSON.stringify(first)}`);
  }
  function* plain(): Steps {
    yield hold(2);
    note('plain');
  }
  simulation.spawn('nested', nested());
  simulation.spawn('plain', plain());
  simulation.run();
  assert.equal(lines, ['2 nested {"index":1,"value":{"index":0}}', '2 plain']);
  assert.is(simulation.now, 2);
});

test('branches of one wait may satisfy each other', () => {
  const simulation = createSimulation();
  const box = createMailbox<string>(simulation, { name: 'box' });
  function* selfish(): Steps {
    assert.equal(yield* anyOf(box.take(), box.put('again')), { index: 0, value: 'again' });
  }
  simulation.spawn('selfish', selfish());
  assert.is(simulation.run(), 'all-ended');
});

test('anyOf without effects is refused', () => {
  assert.throws(() => anyOf(), /anyOf\(\) of nothing would wait for ever/);
});

test.run();
