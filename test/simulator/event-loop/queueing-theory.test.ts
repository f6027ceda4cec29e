import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { randomStream } from '../../../engine/input/random-stream.ts';
import { hold, type Steps } from '../../../simulator/event-loop/effect.ts';
import { createMailbox } from '../../../simulator/event-loop/mailbox.ts';
import { createSharedRate, type SharedRate } from '../../../simulator/event-loop/shared-rate.ts';
import { createSimulation, type Simulation } from '../../../simulator/event-loop/simulation.ts';
import { near, relativelyNear } from '../../support/near.ts';

const CUSTOMERS = 100_000;
/** Share of the capacity that is requested; a service takes a second on average. */
const LOAD = 0.7;

/** Mean seconds that customers, who arrive at random (a Poisson process), spend until `service` is done. */
function meanSojourn(simulation: Simulation, service: () => Steps): number {
  const stream = randomStream(11, 'arrivals');
  let total = 0;
  function* customer(): Steps {
    const arrival = simulation.now;
    yield* service();
    total += simulation.now - arrival;
  }
  function* arrivals(): Steps {
    for (let count = 0; count < CUSTOMERS; count++) {
      yield hold(-Math.log(1 - stream.next()) / LOAD);
      simulation.spawn('customer', customer());
    }
  }
  simulation.spawn('arrivals', arrivals());
  simulation.run();
  return total / CUSTOMERS;
}

function exponential(name: string): () => number {
  const stream = randomStream(12, name);
  return () => -Math.log(1 - stream.next());
}

/** A server with `places` equal places, as a mailbox of permits: customers wait in the order of their arrival. */
function createServer(simulation: Simulation, places: number): (seconds: number) => Steps {
  const permits = createMailbox<void>(simulation, { name: 'permits' });
  function* stock(): Steps {
    for (let place = 0; place < places; place++) yield permits.put();
  }
  simulation.spawn('stock', stock());
  return function* serve(seconds) {
    yield permits.take();
    yield hold(seconds);
    yield permits.put();
  };
}

test('M/M/1: a customer spends 1 / (1 − load) on average', () => {
  const simulation = createSimulation();
  const serve = createServer(simulation, 1);
  const seconds = exponential('services');
  relativelyNear(
    meanSojourn(simulation, () => serve(seconds())),
    1 / (1 - LOAD),
    0.05,
  );
});

test('M/M/2: the wait is that of Erlang C', () => {
  // Two servers at load 0.35 each: C = 0.7²/2/(1 − 0.35) / (1 + 0.7 + that) = 0.1815; T = 1 + C / (2 − 0.7) = 1.1396.
  const simulation = createSimulation();
  const serve = createServer(simulation, 2);
  const seconds = exponential('services');
  relativelyNear(
    meanSojourn(simulation, () => serve(seconds())),
    1.1396,
    0.02,
  );
});

test('M/D/1: the wait is half that of M/M/1 (Pollaczek and Khinchine)', () => {
  const simulation = createSimulation();
  const serve = createServer(simulation, 1);
  relativelyNear(
    meanSojourn(simulation, () => serve(1)),
    1 + LOAD / (2 * (1 - LOAD)),
    0.03,
  );
});

function* moved(rate: SharedRate, bytes: number): Steps {
  yield rate.transfer(bytes);
}

test('processor sharing takes 1 / (1 − load) for any sizes, and Little’s law holds', () => {
  const equal = createSimulation();
  const disk = createSharedRate(equal, { name: 'disk', rate: 8 });
  relativelyNear(
    meanSojourn(equal, () => moved(disk, 8)),
    1 / (1 - LOAD),
    0.05,
  );
  const mixed = createSimulation();
  const other = createSharedRate(mixed, { name: 'disk', rate: 8 });
  const size = exponential('sizes');
  const mean = meanSojourn(mixed, () => moved(other, 8 * size()));
  relativelyNear(mean, 1 / (1 - LOAD), 0.05);
  const { completed, utilisation, transfers } = other.usage();
  assert.is(completed, CUSTOMERS);
  relativelyNear(utilisation, LOAD, 0.02);
  // Little's law holds for every run exactly, not only on average.
  near(transfers.integral, mean * CUSTOMERS, 1e-6 * CUSTOMERS);
});

test.run();
