import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { anyOf } from '../../../simulator/event-loop/any-of.ts';
import { hold, type Steps } from '../../../simulator/event-loop/effect.ts';
import { createOneShot } from '../../../simulator/event-loop/one-shot.ts';
import { createSimulation } from '../../../simulator/event-loop/simulation.ts';
import { createLog } from './log.ts';

test('a one-shot wakes all waiting processes in order, and later waits end at once', () => {
  const simulation = createSimulation();
  const { lines, note } = createLog(simulation);
  const start = createOneShot<string>('the start');
  function* runner(name: string, arrival: number): Steps {
    yield hold(arrival);
    note(`${name} ${yield* start.wait()}`);
  }
  function* starter(): Steps {
    yield hold(2);
    assert.equal([start.state, start.isAwaited], ['pending', true]);
    start.succeed('go');
    assert.equal([start.state, start.isAwaited], ['succeeded', false]);
  }
  simulation.spawn('a', runner('a', 1));
  simulation.spawn('b', runner('b', 0));
  simulation.spawn('c', runner('c', 3));
  simulation.spawn('starter', starter());
  simulation.run();
  assert.equal(lines, ['2 b go', '2 a go', '3 c go']);
});

test('a failure is thrown into all waiting and later processes', () => {
  const simulation = createSimulation();
  const { lines, note } = createLog(simulation);
  const load = createOneShot('the load');
  function* reader(name: string, arrival: number): Steps {
    yield hold(arrival);
    try {
      yield* load.wait();
    } catch (error) {
      note(`${name} ${(error as Error).message}`);
    }
  }
  function* failing(): Steps {
    yield hold(1);
    load.fail(new Error('no such file'));
  }
  simulation.spawn('a', reader('a', 0));
  simulation.spawn('b', reader('b', 2));
  simulation.spawn('failing', failing());
  simulation.run();
  assert.equal(lines, ['1 a no such file', '2 b no such file']);
});

test('a one-shot happens only once', () => {
  const shot = createOneShot('the end of the world');
  shot.succeed();
  assert.throws(() => shot.succeed(), /^the end of the world has happened already; it can happen once$/);
  assert.throws(() => shot.fail(new Error('again')), /has happened already/);
});

test('a cancelled wait is not woken', () => {
  const simulation = createSimulation();
  const { lines, note } = createLog(simulation);
  const late = createOneShot('the bus');
  function* passenger(): Steps {
    note(`${(yield* anyOf(late.wait(), hold(1))).index}`);
    assert.not(late.isAwaited);
    yield hold(5);
    note('walked');
  }
  function* driver(): Steps {
    yield hold(3);
    late.succeed();
  }
  simulation.spawn('passenger', passenger());
  simulation.spawn('driver', driver());
  simulation.run();
  assert.equal(lines, ['1 1', '6 walked']);
});

test.run();
