import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { allOf, anyOf } from '../../../simulator/event-loop/any-of.ts';
import type { Steps } from '../../../simulator/event-loop/effect.ts';
import { hold } from '../../../simulator/event-loop/hold.ts';
import { createInOrderRate } from '../../../simulator/event-loop/in-order-rate.ts';
import { createMailbox } from '../../../simulator/event-loop/mailbox.ts';
import { createOneShot } from '../../../simulator/event-loop/one-shot.ts';
import { createServer } from '../../../simulator/event-loop/server.ts';
import { createSharedRate } from '../../../simulator/event-loop/shared-rate.ts';
import { createSimulation } from '../../../simulator/event-loop/simulation.ts';
import { createLog } from './log.ts';

test('anyOf tells which was first, with its type', () => {
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

test('of several that are over at once the first in the list wins, and the rest is not touched', () => {
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

test('a loser takes nothing later: item, place, room and bytes go to others', () => {
  const simulation = createSimulation();
  const { lines, note } = createLog(simulation);
  const items = createMailbox<string>(simulation, { name: 'items' });
  const full = createMailbox<string>(simulation, { name: 'full', capacity: 1 });
  const server = createServer(simulation, { name: 'server' });
  const disk = createSharedRate(simulation, { name: 'disk', rate: 10 });
  const link = createInOrderRate(simulation, { name: 'link', rate: 10 });
  function* owner(): Steps {
    yield full.put('first');
    yield server.serve(4);
  }
  function* loser(): Steps {
    // hold(1) wins over: an item that comes at 2; a place that comes free at 4, twice; room that comes at 2; 100 bytes
    // that would take 10 s; and the same in order.
    const { index } = yield* anyOf(
      items.take(),
      server.acquire(),
      server.serve(1),
      full.put('lost'),
      disk.transfer(100),
      link.transfer(100),
      hold(1),
    );
    note(`branch ${index}`);
  }
  function* others(): Steps {
    yield hold(2);
    yield items.put('kept');
    note(yield* full.take());
    note(yield* items.take());
    // Alone on the disk: 10 bytes in 1 s; the link free at once: 10 bytes in 1 s; the server free at 4.
    yield disk.transfer(10);
    yield link.transfer(10);
    note('transferred');
    yield server.serve(1);
    note('served');
  }
  simulation.spawn('owner', owner());
  simulation.spawn('loser', loser());
  simulation.spawn('others', others());
  simulation.run();
  assert.equal(lines, ['1 branch 6', '2 first', '2 kept', '4 transferred', '5 served']);
  // The loser had moved 10 bytes of 100 on each.
  assert.equal([disk.usage().bytes, link.usage().bytes], [20, 20]);
  assert.is(full.usage().items.now, 0);
  assert.is(simulation.now, 5);
});

test('a loser under way at a server makes room', () => {
  const simulation = createSimulation();
  const { lines, note } = createLog(simulation);
  const server = createServer(simulation, { name: 'server' });
  function* impatient(): Steps {
    yield anyOf(server.serve(10), hold(3));
    note('impatient leaves');
  }
  function* next(): Steps {
    yield server.serve(1);
    note('next served');
  }
  simulation.spawn('impatient', impatient());
  simulation.spawn('next', next());
  simulation.run();
  assert.equal(lines, ['3 impatient leaves', '4 next served']);
});

test('allOf waits for the last, and keeps the order of the results', () => {
  const simulation = createSimulation();
  const gate = createOneShot<string>('the gate');
  function* child(seconds: number): Steps<number> {
    yield hold(seconds);
    return seconds;
  }
  function* main(): Steps {
    const results = yield* allOf(
      simulation.spawn('slow', child(3)).join(),
      gate.wait(),
      simulation.spawn('fast', child(1)).join(),
    );
    const [slow, word, fast] = results;
    assert.equal([simulation.now, slow + fast, word.length], [3, 4, 4]);
    assert.equal(yield* allOf(), []);
  }
  function* opener(): Steps {
    yield hold(2);
    gate.succeed('open');
  }
  const main_ = simulation.spawn('main', main());
  simulation.spawn('opener', opener());
  simulation.run();
  assert.ok(main_.hasEnded);
});

test('one error ends allOf; what the others had got goes back', () => {
  const simulation = createSimulation();
  const { lines, note } = createLog(simulation);
  const server = createServer(simulation, { name: 'server' });
  const items = createMailbox<string>(simulation, { name: 'items' });
  const gate = createOneShot('the gate');
  function* unlucky(): Steps {
    try {
      yield allOf(server.acquire(), items.take(), items.take(), gate.wait());
    } catch (error) {
      note(`unlucky: ${(error as Error).message}`);
    }
  }
  function* other(): Steps {
    yield server.acquire();
    note('other has the server');
    note(`other has ${yield* items.take()}`);
  }
  function* main(): Steps {
    yield items.put('a'); // goes to unlucky, and comes back before b
    yield hold(1);
    yield items.put('b'); // the same
    yield items.put('c');
    yield hold(1);
    gate.fail(new Error('locked'));
    note(`main has ${yield* items.take()}`);
    note(`main has ${yield* items.take()}`);
  }
  simulation.spawn('unlucky', unlucky());
  simulation.spawn('other', other());
  simulation.spawn('main', main());
  simulation.run();
  // The server goes to the other before the unlucky one learns why it did not get it.
  assert.equal(lines, ['2 main has a', '2 main has b', '2 other has the server', '2 other has c', '2 unlucky: locked']);
});

test('combinations nest; an effect over at its turn lets its process go on in that turn', () => {
  const simulation = createSimulation();
  const { lines, note } = createLog(simulation);
  function* nested(): Steps {
    const first = yield* anyOf(allOf(hold(1), hold(3)), anyOf(hold(2), hold(4)));
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

test('branches of one wait may serve each other', () => {
  const simulation = createSimulation();
  const box = createMailbox<string>(simulation, { name: 'box' });
  function* selfish(): Steps {
    assert.equal(yield* allOf(box.take(), box.put('mine')), ['mine', undefined]);
    assert.equal(yield* anyOf(box.take(), box.put('again')), { index: 0, value: 'again' });
  }
  simulation.spawn('selfish', selfish());
  assert.is(simulation.run(), 'all-ended');
});

test('anyOf of nothing is a mistake', () => {
  assert.throws(() => anyOf(), /anyOf\(\) of nothing would wait for ever/);
});

test.run();
