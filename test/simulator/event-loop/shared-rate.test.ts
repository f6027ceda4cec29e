import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { anyOf } from '../../../simulator/event-loop/any-of.ts';
import { hold, type Steps } from '../../../simulator/event-loop/effect.ts';
import { createSharedRate, type SharedRate } from '../../../simulator/event-loop/shared-rate.ts';
import { createSimulation, type Simulation } from '../../../simulator/event-loop/simulation.ts';
import { near } from '../../support/near.ts';
import { createLog } from './log.ts';

function* transfer(disk: SharedRate, arrival: number, bytes: number, done: () => void): Steps {
  yield hold(arrival);
  yield disk.transfer(bytes);
  done();
}

function diskOf(rate: number) {
  const simulation = createSimulation();
  const { lines, note } = createLog(simulation);
  const disk = createSharedRate(simulation, { name: 'disk', rate });
  const start = (name: string, arrival: number, bytes: number): void => {
    simulation.spawn(
      name,
      transfer(disk, arrival, bytes, () => note(name)),
    );
  };
  return { simulation, disk, lines, start };
}

test('a single transfer has the whole rate', () => {
  const { simulation, disk, lines, start } = diskOf(10);
  start('a', 1, 30);
  simulation.run();
  assert.equal(lines, ['4 a']);
  const { busySeconds, utilisation, bytes, completed } = disk.usage();
  assert.equal([busySeconds, utilisation, bytes, completed], [3, 0.75, 30, 1]);
});

test('arrivals and departures change the shares, as computed by hand', () => {
  // 12 bytes/s. a alone for 1 s: 12 of 42 moved. With b at 1: 6 each for 2 s: a 24, b 12. With c at 3: 4 each.
  // c needs 8: 2 s, done at 5; a 32, b 20 of 26. Then 6 each: b needs 1 s, done at 6; a 38. a alone needs 4 bytes: 1/3 s.
  const { simulation, disk, lines, start } = diskOf(12);
  start('a', 0, 42);
  start('b', 1, 26);
  start('c', 3, 8);
  simulation.run();
  assert.equal(lines, ['5 c', '6 b', '6.33333333333 a']);
  const { bytes, transfers } = disk.usage();
  near(bytes, 76);
  // 1 transfer for 1 s, 2 for 2 s, 3 for 2 s, 2 for 1 s, 1 for 1/3 s.
  near(transfers.integral, 1 + 4 + 6 + 2 + 1 / 3);
  assert.is(transfers.most, 3);
});

test('the rate may change, down to zero, as computed by hand', () => {
  // a has 10 bytes/s until 2: 20 of 50. Then 5 bytes/s, halved with b from 4: a 30, b of 20. 2.5 each until 6: a 35, b 5.
  // Nothing until 10. Then 40 bytes/s, 20 each: a and b, 15 bytes to go each, end at 10.75.
  const { simulation, disk, lines, start } = diskOf(10);
  start('a', 0, 50);
  start('b', 4, 20);
  function* operator(): Steps {
    yield hold(2);
    disk.setRate(5);
    yield hold(4);
    disk.setRate(0);
    yield hold(4);
    disk.setRate(40);
  }
  simulation.spawn('operator', operator());
  simulation.run();
  assert.equal(lines, ['10.75 a', '10.75 b']);
  near(disk.usage().bytes, 70);
  near(disk.usage().busySeconds, 10.75);
});

test('equal transfers end together in the order of their start, and empty ones at once', () => {
  const simulation = createSimulation();
  const { lines, note } = createLog(simulation);
  const disk = createSharedRate(simulation, { name: 'disk', rate: 10 });
  const ends = (name: string) => () => note(`${name}, ${disk.usage().completed} completed`);
  simulation.spawn('a', transfer(disk, 0, 10, ends('a')));
  simulation.spawn('b', transfer(disk, 0, 10, ends('b')));
  simulation.spawn('empty', transfer(disk, 0, 0, ends('empty')));
  simulation.run();
  assert.equal(lines, ['0 empty, 1 completed', '2 a, 3 completed', '2 b, 3 completed']);
});

test('a small transfer after a huge one is exact', () => {
  // 10¹⁷ + 1 = 10¹⁷ in floating-point numbers: a count from the beginning would lose the second transfer.
  const { simulation, disk, start } = diskOf(1e17);
  start('huge', 0, 1e17);
  start('small', 2, 1);
  simulation.run(1.5);
  disk.setRate(10);
  simulation.run();
  near(simulation.now, 2.1, 1e-15);
});

test('rounding never turns back the clock', () => {
  // The second transfer starts exactly when the first one is complete, before that event is processed.
  const amount = fc.double({ min: 0.1, max: 10, noNaN: true });
  fc.assert(
    fc.property(amount, amount, (bytes, rate) => {
      const simulation = createSimulation();
      const disk = createSharedRate(simulation, { name: 'disk', rate });
      const times: number[] = [];
      const note = (): void => {
        times.push(simulation.now);
      };
      function* second(): Steps {
        yield hold(bytes / rate);
        note();
        yield disk.transfer(1);
      }
      simulation.spawn('second', second());
      simulation.spawn('first', transfer(disk, 0, bytes, note));
      simulation.run();
      const [arrival = Number.NaN, end = Number.NaN] = times;
      assert.ok(end >= arrival, `${end} comes after ${arrival}`);
      near(end, bytes / rate, 1e-14);
    }),
    { seed: 5, numRuns: 500 },
  );
});

test('a cancelled transfer speeds up the others, as computed by hand', () => {
  // Two at 5 bytes/s; b leaves at 3, with 15 moved; a has 15 of 40, and needs 2.5 s more.
  const { simulation, disk, lines, start } = diskOf(10);
  start('a', 0, 40);
  function* leaver(): Steps {
    yield anyOf(disk.transfer(100), hold(3));
  }
  simulation.spawn('b', leaver());
  simulation.run();
  assert.equal(lines, ['5.5 a']);
  near(disk.usage().bytes, 55);
  assert.is(disk.usage().completed, 1);
});

/** Time at which a transfer ends or is cancelled. */
interface Fate {
  end: number;
  moved: number;
}
interface Load {
  readonly arrival: number;
  readonly bytes: number;
  /** Seconds after which it is cancelled. */
  readonly patience: number;
}
interface RateChange {
  readonly time: number;
  readonly rate: number;
}

/** Processor sharing by the definition: from event to event, moving the bytes of every transfer. */
function fluid(loads: readonly Load[], changes: readonly RateChange[]): { fates: Fate[]; bytes: number } {
  const fates = loads.map(() => ({ end: Number.NaN, moved: 0 }));
  const state = loads.map(() => 'coming' as 'coming' | 'here' | 'gone');
  let now = 0;
  let rate = 1;
  let bytes = 0;
  while (state.includes('here') || state.includes('coming')) {
    const here = loads.map((_, index) => index).filter((index) => state[index] === 'here');
    const share = rate / Math.max(1, here.length);
    const left = (index: number): number => (loads[index] as Load).bytes - (fates[index] as Fate).moved;
    const next = Math.min(
      ...here.map((index) => (share > 0 ? now + left(index) / share : Number.POSITIVE_INFINITY)),
      ...here.map((index) => (loads[index] as Load).arrival + (loads[index] as Load).patience),
      ...loads.filter((_, index) => state[index] === 'coming').map(({ arrival }) => arrival),
      ...changes.map(({ time }) => time).filter((time) => time > now),
    );
    for (const index of here) {
      (fates[index] as Fate).moved += share * (next - now);
      bytes += share * (next - now);
    }
    now = next;
    for (const { time, rate: changed } of changes) if (time === now) rate = changed;
    loads.forEach(({ arrival, patience }, index) => {
      if (state[index] === 'coming' && arrival === now) state[index] = 'here';
      if (state[index] === 'here' && (left(index) < 1e-9 || arrival + patience <= now)) {
        state[index] = 'gone';
        (fates[index] as Fate).end = now;
      }
    });
  }
  return { fates, bytes };
}

function simulated(loads: readonly Load[], changes: readonly RateChange[]) {
  const simulation = createSimulation();
  const disk = createSharedRate(simulation, { name: 'disk', rate: 1 });
  const fates: Fate[] = loads.map(() => ({ end: Number.NaN, moved: 0 }));
  function* user({ arrival, bytes, patience }: Load, fate: Fate): Steps {
    yield hold(arrival);
    const process = simulation.spawn('transfer', move(bytes, fate));
    yield anyOf(process.join(), hold(patience));
    process.interrupt('patience is over');
  }
  function* move(bytes: number, fate: Fate): Steps {
    try {
      yield disk.transfer(bytes);
      fate.moved = bytes;
    } catch (error) {
      fate.moved = bytes - ((error as { remaining?: number }).remaining ?? Number.NaN);
    }
    fate.end = simulation.now;
  }
  function* operator(simulation: Simulation): Steps {
    for (const { time, rate } of changes) {
      yield hold(time - simulation.now);
      disk.setRate(rate);
    }
  }
  simulation.spawn('operator', operator(simulation));
  loads.forEach((load, index) => {
    simulation.spawn('user', user(load, fates[index] as Fate));
  });
  simulation.run();
  return { fates, usage: disk.usage() };
}

test('any arrivals, departures and rates give the ends of the definition, and bytes are conserved', () => {
  const load = fc.record({
    arrival: fc.double({ min: 0, max: 20, noNaN: true }),
    bytes: fc.double({ min: 0.01, max: 10, noNaN: true }),
    patience: fc.oneof(fc.constant(1000), fc.double({ min: 0.01, max: 10, noNaN: true })),
  });
  const change = fc.record({
    time: fc.double({ min: 0.01, max: 40, noNaN: true }),
    rate: fc.oneof(fc.constant(0), fc.double({ min: 0.1, max: 5, noNaN: true })),
  });
  fc.assert(
    fc.property(fc.array(load, { minLength: 1, maxLength: 30 }), fc.array(change, { maxLength: 8 }), (loads, some) => {
      // The last rate is above zero, so that every transfer ends.
      const changes = [...some.toSorted((a, b) => a.time - b.time), { time: 41, rate: 1 }];
      const expected = fluid(loads, changes);
      const { fates, usage } = simulated(loads, changes);
      fates.forEach((fate, index) => {
        near(fate.end, expected.fates[index]?.end ?? Number.NaN, 1e-7);
        near(fate.moved, expected.fates[index]?.moved ?? Number.NaN, 1e-7);
      });
      near(usage.bytes, expected.bytes, 1e-7);
      near(
        usage.bytes,
        fates.reduce((sum, { moved }) => sum + moved, 0),
      );
    }),
    { seed: 3, numRuns: 300 },
  );
});

test('a disk that is never idle counts 40 TB exactly', () => {
  // Two streams of 20,000 transfers of 1 GB each, over 1 GB/s.
  const simulation = createSimulation();
  const disk = createSharedRate(simulation, { name: 'disk', rate: 1e9 });
  function* stream(offset: number): Steps {
    yield hold(offset);
    for (let count = 0; count < 20_000; count++) yield disk.transfer(1e9);
  }
  simulation.spawn('first', stream(0));
  simulation.spawn('second', stream(0.3));
  simulation.run();
  near(disk.usage().bytes, 4e13, 1e-12);
  near(simulation.now, 40_000, 1e-12);
});

test.run();
