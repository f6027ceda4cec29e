import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createActivity } from '../../../simulator/event-loop/activity.ts';
import { hold, type Steps } from '../../../simulator/event-loop/effect.ts';
import { createSimulation } from '../../../simulator/event-loop/simulation.ts';

test('whoever waits goes on when the last of what is under way ends, or at once if nothing is', () => {
  const simulation = createSimulation();
  const activity = createActivity('reads');
  const log: string[] = [];
  function* read(seconds: number): Steps {
    activity.begin();
    yield hold(seconds);
    activity.end();
  }
  function* wait(name: string, from: number): Steps {
    yield hold(from);
    yield activity.idle();
    log.push(`${name} ${simulation.now}`);
  }
  simulation.spawn('short', read(1));
  simulation.spawn('long', read(3));
  simulation.spawn('early', wait('early', 0.5));
  simulation.spawn('between', wait('between', 2));
  simulation.spawn('late', wait('late', 4));
  assert.ok(activity.isIdle);
  simulation.run();
  assert.ok(activity.isIdle);
  assert.equal(log, ['early 3', 'between 3', 'late 4']);
});

test.run();
