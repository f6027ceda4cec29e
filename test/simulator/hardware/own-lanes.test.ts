import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { hold, type Steps } from '../../../simulator/event-loop/effect.ts';
import { createSimulation } from '../../../simulator/event-loop/simulation.ts';
import type { DiskThrottle } from '../../../simulator/hardware/disk.ts';
import { createOwnLanes, createReadBus, createReadLanes } from '../../../simulator/hardware/read-lanes.ts';

/** Requests, as a pause before each and its bytes. */
type Requests = readonly (readonly [pause: number, bytes: number])[];

interface Lanes {
  readonly depth: number;
  readonly latency: number;
  readonly throttle: DiskThrottle | undefined;
}

const DISK = { latency: 0, bandwidth: 1e9 };

/** The ends of reads that lanes go through step by step, and those that are known at the request. */
function ends({ depth, latency, throttle }: Lanes, requests: Requests): { stepped: number[]; known: number[] } {
  const simulation = createSimulation();
  const buses = [createReadBus(simulation, DISK, throttle), createReadBus(simulation, DISK, throttle)] as const;
  const lanes = createReadLanes(simulation, depth);
  const own = createOwnLanes(simulation, { bus: buses[1], depth, latency });
  const stepped: number[] = [];
  const known: number[] = [];
  function* read(index: number, bytes: number): Steps {
    yield* buses[0].read(latency, bytes);
    stepped[index] = simulation.now;
  }
  function* ask(): Steps {
    for (const [index, [pause, bytes]] of requests.entries()) {
      if (pause > 0) yield hold(pause);
      lanes.request(() => read(index, bytes));
      known[index] = own(bytes).end;
    }
  }
  simulation.spawn('requests', ask());
  simulation.run();
  return { stepped, known };
}

test('ends of reads that are known at the request are those of lanes that go through them step by step', () => {
  fc.assert(
    fc.property(
      fc.record({
        depth: fc.integer({ min: 1, max: 5 }),
        latency: fc.constantFrom(0, 80e-6, 1e-3),
        throttle: fc.constantFrom(undefined, { sliceSeconds: 0.1, diskRate: 2e9 }),
      }),
      fc.array(fc.tuple(fc.constantFrom(0, 1e-4, 3e-3), fc.integer({ min: 1, max: 5_000_000 })), { maxLength: 40 }),
      (lanes, requests) => {
        const { stepped, known } = ends(lanes, requests);
        assert.equal(known, stepped);
      },
    ),
    { seed: 3, numRuns: 200 },
  );
});

test.run();
