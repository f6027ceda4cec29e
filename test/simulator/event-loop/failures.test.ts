import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { anyOf } from '../../../simulator/event-loop/any-of.ts';
import { type Effect, hold, type Steps } from '../../../simulator/event-loop/effect.ts';
import { DeadlockError, ProcessError } from '../../../simulator/event-loop/errors.ts';
import { createMailbox, type Mailbox } from '../../../simulator/event-loop/mailbox.ts';
import { createOneShot } from '../../../simulator/event-loop/one-shot.ts';
import { createSharedRate } from '../../../simulator/event-loop/shared-rate.ts';
import { createSimulation, type Process } from '../../../simulator/event-loop/simulation.ts';
import { createLog } from './log.ts';

function caught(run: () => void): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  return undefined;
}

test('a deadlock lists waiting processes and what they wait for', () => {
  const simulation = createSimulation();
  const left = createMailbox<void>(simulation, { name: 'left fork' });
  const right = createMailbox<void>(simulation, { name: 'right fork' });
  function* philosopher(first: Mailbox<void>, second: Mailbox<void>): Steps {
    yield first.put();
    yield first.take();
    yield hold(1.5);
    yield second.take();
  }
  function* heir(philosopher: Process<void>): Steps {
    yield philosopher.join();
  }
  const kant = simulation.spawn('Kant', philosopher(left, right));
  simulation.spawn('Hume', philosopher(right, left));
  simulation.spawn('heir', heir(kant));
  const error = caught(() => simulation.run());
  assert.instance(error, DeadlockError);
  assert.is(
    (error as DeadlockError).message,
    'deadlock at 1.5 s, no event is left: "Kant" waits for an item in mailbox "right fork"; ' +
      '"Hume" waits for an item in mailbox "left fork"; "heir" waits for the end of process "Kant"',
  );
});

test('a deadlock can involve every kind of resource', () => {
  const simulation = createSimulation();
  const disk = createSharedRate(simulation, { name: 'disk', rate: 0 });
  const box = createMailbox<number>(simulation, { name: 'box', capacity: 1 });
  const empty = createMailbox<number>(simulation, { name: 'empty' });
  const warm = createOneShot('the warm-up');
  function* waits(...effects: Effect<unknown>[]): Steps {
    for (const effect of effects) yield effect;
  }
  simulation.spawn('reader', waits(disk.transfer(100)));
  simulation.spawn('putter', waits(box.put(1), box.put(2)));
  simulation.spawn('either', waits(anyOf(warm.wait(), empty.take())));
  const error = caught(() => simulation.run());
  assert.instance(error, DeadlockError);
  assert.equal((error as DeadlockError).waiting, [
    { process: 'reader', waitsFor: '100 bytes through "disk" at 0 bytes/s' },
    { process: 'putter', waitsFor: 'room in mailbox "box"' },
    { process: 'either', waitsFor: 'any of (the warm-up; an item in mailbox "empty")' },
  ]);
});

test('a long list of waiting processes is shortened in the message but not in the error', () => {
  const simulation = createSimulation();
  const never = createOneShot('Godot');
  function* wait(): Steps {
    yield never.wait();
  }
  for (let index = 1; index <= 10; index++) simulation.spawn(`tramp ${index}`, wait());
  const error = caught(() => simulation.run()) as DeadlockError;
  assert.match(error.message, /"tramp 8" waits for Godot and 2 more$/);
  assert.is(error.waiting.length, 10);
});

test('an error is reported with the name of its process and the time', () => {
  const simulation = createSimulation();
  const cause = new Error('bad sector');
  function* reader(): Steps {
    yield hold(3.5);
    throw cause;
  }
  simulation.spawn('reader', reader());
  const error = caught(() => simulation.run());
  assert.instance(error, ProcessError);
  const { message, process, time, cause: found } = error as ProcessError;
  assert.equal([message, process, time], ['process "reader" failed at 3.5 s: bad sector', 'reader', 3.5]);
  assert.is(found, cause);
});

test('any thrown value is reported', () => {
  const simulation = createSimulation();
  // biome-ignore lint/correctness/useYield: it fails before it waits
  function* careless(): Steps {
    throw 'a text';
  }
  simulation.spawn('careless', careless());
  assert.throws(() => simulation.run(), /^process "careless" failed at 0 s: a text$/);
});

test('an error is thrown into all processes that wait, and each may catch it', () => {
  const simulation = createSimulation();
  const { lines, note } = createLog(simulation);
  function* worker(): Steps {
    yield hold(1);
    throw new Error('out of paper');
  }
  function* careful(worker: Process<void>): Steps {
    try {
      yield worker.join();
    } catch (error) {
      note(`caught: ${(error as Error).message}`);
    }
    yield hold(1);
    note('goes on');
  }
  function* careless(worker: Process<void>): Steps {
    yield worker.join();
  }
  const job = simulation.spawn('worker', worker());
  simulation.spawn('careful', careful(job));
  simulation.run();
  assert.equal(lines, ['1 caught: process "worker" failed at 1 s: out of paper', '2 goes on']);
  // Later waits get the same error; uncaught, it is reported under the name of the process that threw it.
  simulation.spawn('careless', careless(job));
  assert.throws(() => simulation.run(), /^process "worker" failed at 1 s: out of paper$/);
});

test('an effect can only be awaited once', () => {
  const again = (wait: (pause: Effect<void>) => Steps): void => {
    const simulation = createSimulation();
    simulation.spawn('a', wait(hold(1)));
    assert.throws(() => simulation.run(), /process "a" failed at 1 s: an effect can be waited for once: make another/);
  };
  again(function* (pause) {
    yield pause;
    yield pause;
  });
  again(function* (pause) {
    yield* pause;
    yield* pause;
  });
});

test('invalid arguments are refused with what is allowed', () => {
  const simulation = createSimulation();
  function* nothing(): Steps {}
  assert.throws(() => hold(-1), /^hold: -1 is not a finite number, at least 0$/);
  assert.throws(() => hold(Number.NaN), /^hold: NaN is not/);
  assert.throws(
    () => simulation.spawn('x', nothing(), 256),
    /process "x": priority 256 is not a whole number from −255/,
  );
  assert.throws(() => createMailbox(simulation, { name: 'm', capacity: 0 }), /mailbox "m": capacity 0 is below 1/);
  assert.throws(() => createSharedRate(simulation, { name: 'd', rate: -1 }), /^rate of "d": -1 is not a finite number/);
  assert.throws(
    () => createSharedRate(simulation, { name: 'd', rate: 1 }).transfer(Infinity),
    /^transfer on "d": Infinity/,
  );
});

test('a process cannot run its own simulation', () => {
  const simulation = createSimulation();
  function* impatient(): Steps {
    yield hold(1);
    simulation.run();
  }
  simulation.spawn('impatient', impatient());
  assert.throws(() => simulation.run(), /process "impatient" failed at 1 s: run: the simulation runs already/);
});

test.run();
