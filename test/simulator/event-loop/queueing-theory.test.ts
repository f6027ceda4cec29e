import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { randomStream } from '../../../engine/input/random-stream.ts';
import type { Effect, Steps } from '../../../simulator/event-loop/effect.ts';
import { hold } from '../../../simulator/event-loop/hold.ts';
import { createInOrderRate } from '../../../simulator/event-loop/in-order-rate.ts';
import { createServer } from '../../../simulator/event-loop/server.ts';
import { createSharedRate } from '../../../simulator/event-loop/shared-rate.ts';
import { createSimulation, type Simulation } from '../../../simulator/event-loop/simulation.ts';
import { near, relativelyNear } from '../../support/near.ts';

const CUSTOMERS = 100_000;
/** Of the service that there is, the share that is asked for; a service takes a second on average. */
const LOAD = 0.7;

/** Mean seconds that customers spend who come at random (a Poisson process) for what `service` makes of them. */
function meanSojourn(simulation: Simulation, service: () => Effect<unknown>): number {
  const stream = randomStream(11, 'arrivals');
  let total = 0;
  function* customer(): Steps {
    const arrival = simulation.now;
    yield service();
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

test('M/M/1: a customer spends 1 / (1 − load) on average; Little: customers present = rate × time spent', () => {
  const simulation = createSimulation();
  const server = createServer(simulation, { name: 'server' });
  const seconds = exponential('services');
  const mean = meanSojourn(simulation, () => server.serve(seconds()));
  relativelyNear(mean, 1 / (1 - LOAD), 0.05);
  const { users, line, utilisation } = server.usage();
  relativelyNear(utilisation, LOAD, 0.02);
  // Little's law holds for every run exactly, not only on average.
  near(users.integral + line.integral, mean * CUSTOMERS, 1e-6 * CUSTOMERS);
});

test('M/M/2: Erlang C', () => {
  // Two servers at load 0.35 each: C = 0.7²/2/(1 − 0.35) / (1 + 0.7 + that) = 0.1815; T = 1 + C / (2 − 0.7) = 1.1396.
  const simulation = createSimulation();
  const server = createServer(simulation, { name: 'server', capacity: 2 });
  const seconds = exponential('services');
  relativelyNear(
    meanSojourn(simulation, () => server.serve(seconds())),
    1.1396,
    0.02,
  );
});

test('M/D/1 in order: Pollaczek and Khinchine, half the wait of M/M/1', () => {
  const simulation = createSimulation();
  const link = createInOrderRate(simulation, { name: 'link', rate: 8 });
  relativelyNear(
    meanSojourn(simulation, () => link.transfer(8)),
    1 + LOAD / (2 * (1 - LOAD)),
    0.03,
  );
});

test('processor sharing: 1 / (1 − load) whatever the sizes', () => {
  const equal = createSimulation();
  const disk = createSharedRate(equal, { name: 'disk', rate: 8 });
  relativelyNear(
    meanSojourn(equal, () => disk.transfer(8)),
    1 / (1 - LOAD),
    0.05,
  );
  const mixed = createSimulation();
  const other = createSharedRate(mixed, { name: 'disk', rate: 8 });
  const size = exponential('sizes');
  relativelyNear(
    meanSojourn(mixed, () => other.transfer(8 * size())),
    1 / (1 - LOAD),
    0.05,
  );
  assert.is(other.usage().completed, CUSTOMERS);
});

test.run();
