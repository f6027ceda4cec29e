import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { allOf, anyOf } from '../../../simulator/event-loop/any-of.ts';
import type { Steps } from '../../../simulator/event-loop/effect.ts';
import { hold } from '../../../simulator/event-loop/hold.ts';
import { type Interrupt, Preemption } from '../../../simulator/event-loop/interrupt.ts';
import { createServer, type Server } from '../../../simulator/event-loop/server.ts';
import { createSimulation } from '../../../simulator/event-loop/simulation.ts';
import { near } from '../../support/near.ts';
import { createLog } from './log.ts';

test('two places, four customers: first come, first served', () => {
  const simulation = createSimulation();
  const { lines, note } = createLog(simulation);
  const server = createServer(simulation, { name: 'barbers', capacity: 2 });
  function* customer(name: string, seconds: number): Steps {
    yield server.serve(seconds);
    note(name);
  }
  // a 0–3, b 0–1, c 1–3, d 3–4
  simulation.spawn('a', customer('a', 3));
  simulation.spawn('b', customer('b', 1));
  simulation.spawn('c', customer('c', 2));
  simulation.spawn('d', customer('d', 1));
  simulation.run();
  assert.equal(lines, ['1 b', '3 a', '3 c', '4 d']);
  const { busySeconds, utilisation, completed, users, line } = server.usage();
  // 7 seconds of service in 4 × 2; the line: 2 for 1 s, then 1 for 2 s.
  assert.equal([busySeconds, utilisation, completed], [7, 7 / 8, 4]);
  assert.equal([users.most, users.busySeconds, line.most, line.mean, line.busySeconds], [2, 4, 2, 1, 3]);
});

test('a claim keeps its place over several waits; the lowest priority number is next, then the first to come', () => {
  const simulation = createSimulation();
  const { lines, note } = createLog(simulation);
  const server = createServer(simulation, { name: 'server' });
  function* user(name: string, priority: number): Steps {
    const claim = yield* server.acquire(priority);
    note(name);
    yield hold(1);
    yield hold(1);
    claim.release();
  }
  simulation.spawn('first', user('first', 9));
  simulation.spawn('c', user('c', 5));
  simulation.spawn('d', user('d', 5));
  simulation.spawn('a', user('a', 1));
  simulation.spawn('b', user('b', 1.5));
  simulation.run();
  assert.equal(lines, ['0 first', '2 a', '4 b', '6 c', '8 d']);
});

test('a free place is given at once, within the turn', () => {
  const simulation = createSimulation();
  const { lines, note } = createLog(simulation);
  const server = createServer(simulation, { name: 'server' });
  function* quick(name: string): Steps {
    note(`${name} asks`);
    const claim = yield* server.acquire();
    note(`${name} has it`);
    claim.release();
  }
  simulation.spawn('a', quick('a'));
  simulation.spawn('b', quick('b'));
  simulation.run();
  assert.equal(lines, ['0 a asks', '0 a has it', '0 b asks', '0 b has it']);
});

/** Is served to the end, however often it is preempted. */
function* persistent(server: Server, seconds: number, priority: number, note: (what: string) => void): Steps {
  let left = seconds;
  for (;;) {
    try {
      yield server.serve(left, priority);
      return;
    } catch (error) {
      if (!(error instanceof Preemption)) throw error;
      left = error.remaining ?? 0;
      note(`${error.message}, ${left} s remain`);
    }
  }
}

test('preemption: the service is cut short, and what remains is served later', () => {
  const simulation = createSimulation();
  const { lines, note } = createLog(simulation);
  const server = createServer(simulation, { name: 'cpu', preemptive: true });
  function* job(name: string, arrival: number, seconds: number, priority: number): Steps {
    yield hold(arrival);
    yield* persistent(server, seconds, priority, note);
    note(`${name} done`);
  }
  // slow 0–2, urgent 2–3; equal (same priority as slow) waits behind; slow joins the line again behind it:
  // equal 3–4, slow 4–5, top 5–6, slow 6–8.
  simulation.spawn('slow', job('slow', 0, 5, 1));
  simulation.spawn('equal', job('equal', 1, 1, 1));
  simulation.spawn('urgent', job('urgent', 2, 1, 0));
  simulation.spawn('top', job('top', 5, 1, -1));
  simulation.run();
  assert.equal(lines, [
    '2 preempted on server "cpu" by "urgent", 3 s remain',
    '3 urgent done',
    '4 equal done',
    '5 preempted on server "cpu" by "top", 2 s remain',
    '6 top done',
    '8 slow done',
  ]);
  near(server.usage().busySeconds, 8);
  assert.is(server.usage().completed, 4);
});

test('of several users the highest number gives way, the latest of those', () => {
  const simulation = createSimulation();
  const { lines, note } = createLog(simulation);
  const server = createServer(simulation, { name: 'cpu', capacity: 3, preemptive: true });
  function* job(name: string, priority: number): Steps {
    try {
      yield server.serve(10, priority);
      note(`${name} done`);
    } catch (error) {
      note(`${name}: ${(error as Error).message}`);
    }
  }
  simulation.spawn('a', job('a', 2));
  simulation.spawn('b', job('b', 2));
  simulation.spawn('c', job('c', 1));
  simulation.spawn('x', job('x', 0));
  simulation.spawn('y', job('y', 1));
  simulation.spawn('z', job('z', 1)); // nobody of higher number is left: waits
  simulation.run();
  assert.equal(lines, [
    '0 b: preempted on server "cpu" by "x"',
    '0 a: preempted on server "cpu" by "y"',
    '10 c done',
    '10 x done',
    '10 y done',
    '20 z done',
  ]);
});

test('whoever holds a claim is interrupted in what it does, and has lost the claim', () => {
  const simulation = createSimulation();
  const { lines, note } = createLog(simulation);
  const server = createServer(simulation, { name: 'cpu', preemptive: true });
  function* holder(): Steps {
    const claim = yield* server.acquire(1);
    try {
      yield hold(10);
    } catch (error) {
      note(`${(error as Error).message}, ${(error as Preemption).remaining} s remain`);
    }
    claim.release(); // of no effect: the place is another's
    yield hold(1);
  }
  function* boss(): Steps {
    yield hold(4);
    yield server.serve(3, 0);
    note('boss done');
  }
  function* third(): Steps {
    yield hold(5);
    yield server.serve(1, 1);
    note('third done');
  }
  simulation.spawn('holder', holder());
  simulation.spawn('boss', boss());
  simulation.spawn('third', third());
  simulation.run();
  assert.equal(lines, ['4 preempted on server "cpu" by "boss", 6 s remain', '7 boss done', '8 third done']);
});

test('the place of a victim goes to the one who drives it out, not to one in line for what else the victim gives up', () => {
  const simulation = createSimulation();
  const { lines, note } = createLog(simulation);
  const server = createServer(simulation, { name: 'cpu', capacity: 2, preemptive: true });
  function* greedy(): Steps {
    try {
      yield allOf(server.serve(10, 2), server.serve(10, 1));
    } catch (error) {
      note(`greedy ${(error as Error).message}`);
    }
  }
  function* job(name: string, arrival: number, priority: number): Steps {
    yield hold(arrival);
    yield server.serve(1, priority);
    note(`${name} done`);
  }
  // boss takes one place at 2, and so greedy gives up the other, which goes to patient.
  simulation.spawn('greedy', greedy());
  simulation.spawn('patient', job('patient', 1, 3));
  simulation.spawn('boss', job('boss', 2, 0));
  simulation.run();
  assert.equal(lines, ['2 greedy preempted on server "cpu" by "boss"', '3 boss done', '3 patient done']);
  assert.is(server.usage().users.most, 2);
});

test('without preemption the urgent waits', () => {
  const simulation = createSimulation();
  const server = createServer(simulation, { name: 'cpu' });
  const { lines, note } = createLog(simulation);
  function* job(name: string, seconds: number, priority: number): Steps {
    yield server.serve(seconds, priority);
    note(name);
  }
  simulation.spawn('slow', job('slow', 5, 1));
  simulation.spawn('urgent', job('urgent', 1, 0));
  simulation.run();
  assert.equal(lines, ['5 slow', '6 urgent']);
});

test('any jobs with interruptions: every second asked for is served, none twice', () => {
  const job = fc.record({
    arrival: fc.integer({ min: 0, max: 20 }),
    seconds: fc.integer({ min: 0, max: 6 }),
    priority: fc.integer({ min: 0, max: 3 }),
    patience: fc.oneof(fc.constant(1000), fc.integer({ min: 1, max: 5 })),
  });
  fc.assert(
    fc.property(
      fc.array(job, { minLength: 1, maxLength: 30 }),
      fc.integer({ min: 1, max: 3 }),
      fc.boolean(),
      (jobs, capacity, preemptive) => {
        const simulation = createSimulation();
        const server = createServer(simulation, { name: 'cpu', capacity, preemptive });
        let served = 0;
        let done = 0;
        // Goes on after every interruption, be it by a more urgent job or for lack of patience.
        function* work(seconds: number, priority: number): Steps {
          for (let left = seconds; ; ) {
            try {
              yield server.serve(left, priority);
              served += left;
              done++;
              return;
            } catch (error) {
              const remaining = (error as Interrupt).remaining ?? Number.NaN;
              served += left - remaining;
              left = remaining;
            }
          }
        }
        function* customer({ arrival, seconds, priority, patience }: (typeof jobs)[number]): Steps {
          yield hold(arrival);
          const process = simulation.spawn('work', work(seconds, priority));
          yield anyOf(process.join(), hold(patience));
          process.interrupt('patience is over');
          yield process.join();
        }
        for (const each of jobs) simulation.spawn('customer', customer(each));
        assert.is(simulation.run(), 'all-ended');
        const total = jobs.reduce((sum, { seconds }) => sum + seconds, 0);
        const { busySeconds, completed, users, line } = server.usage();
        assert.equal([served, busySeconds, done, completed], [total, total, jobs.length, jobs.length]);
        assert.ok(users.most <= capacity);
        assert.equal([users.now, line.now], [0, 0]);
      },
    ),
    { seed: 6, numRuns: 300 },
  );
});

test.run();
