import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Steps } from '../../../simulator/event-loop/effect.ts';
import { hold } from '../../../simulator/event-loop/hold.ts';
import { createSharedRate } from '../../../simulator/event-loop/shared-rate.ts';
import { createSimulation } from '../../../simulator/event-loop/simulation.ts';
import { pageFaults } from '../../../simulator/hardware/page-faults.ts';
import { prefetchWillneed } from '../../../simulator/hardware/prefetch.ts';
import { createWeightsReader } from '../../../simulator/hardware/weights-reader.ts';
import { createPageCache } from '../../../simulator/page-cache/page-cache.ts';
import { MEASURED_OS_RATES, type PagePolicy } from '../../../simulator/page-cache/policies.ts';
import { near } from '../../support/near.ts';

const MB = 1e6;
const TWO_LISTS = { name: 'linux-two-list', readAhead: 0, overhead: 0 } as const;

/** A file of 330 MB in extents of 1 MB, read in chunks of 33 MB from a disk of 100 MB/s. */
function lab(policy: PagePolicy, limit = Number.POSITIVE_INFINITY) {
  const simulation = createSimulation();
  const cache = createPageCache({ size: 330 * MB, limit, extentBytes: MB, policy });
  const rate = createSharedRate(simulation, { name: 'disk', rate: 100 * MB });
  const disk = {
    name: 'disk',
    read: (bytes: number) => rate.transfer(bytes),
    busySeconds: () => rate.usage().busySeconds,
  };
  const ends: number[] = [];
  const reader = createWeightsReader({
    simulation,
    cache,
    disk,
    faults: {
      access: 'sequential',
      usesPagesAsTheyCome: false,
      readsInOneGo: false,
      osRates: MEASURED_OS_RATES,
      readAhead: 0,
    },
    chunkBytes: 33 * MB,
    faultsOnly: false,
    onRead: ({ end }) => ends.push(end),
  });
  return { simulation, cache, reader, ends };
}

test('MADV_WILLNEED submits as fast as the processor goes (1.65 GB/s), and the disk brings it in order', () => {
  const { simulation, cache, reader, ends } = lab(TWO_LISTS);
  simulation.run(simulation.spawn('prefetch', prefetchWillneed(reader, { from: 0, to: 330 * MB })));
  near(simulation.now, 0.2);
  assert.is(cache.usage().reading, 330 * MB);
  simulation.run();
  assert.is(ends.length, 10);
  ends.forEach((end, index) => {
    near(end, 0.02 + 0.33 * (index + 1));
  });
});

test('what is being read can not be dropped: MADV_WILLNEED waits where room is left only for page faults', () => {
  const { simulation, cache, reader, ends } = lab(TWO_LISTS, 99 * MB);
  simulation.run(simulation.spawn('prefetch', prefetchWillneed(reader, { from: 0, to: 330 * MB })));
  // Of 330 MB 264 have arrived when the last can be submitted: 0.02 s for the first chunk, and 2.64 s of the disk.
  assert.ok(simulation.now >= 2.66 && simulation.now < 2.68, String(simulation.now));
  simulation.run();
  near(ends.at(-1) ?? 0, 3.32);
  assert.equal(cache.residentRanges(), [{ from: 231 * MB, to: 330 * MB }]);
});

test('what MADV_WILLNEED brought is mapped by its first use, at 11 GB/s; what faults brought, is', () => {
  const all = { from: 0, to: 330 * MB };
  for (const [reads, mapping] of [
    ['willneed', 0.03],
    ['demand', 0],
  ] as const) {
    const { simulation, reader } = lab(TWO_LISTS);
    const left: number[] = [];
    simulation.spawn('bring and use', bringAndUse());
    simulation.run();
    left.forEach((seconds, use) => {
      near(seconds, 0.1 + (use === 0 ? mapping : 0));
    });
    assert.is(left.length, 2);

    function* bringAndUse(): Steps {
      if (reads === 'willneed') yield* prefetchWillneed(reader, all);
      else yield* pageFaults(reader, { range: all });
      yield hold(5);
      for (let use = 0; use < 2; use++) left.push(yield* pageFaults(reader, { range: all, seconds: 0.1 }));
    }
  }
});

test('nobody waits for what the operating system reads ahead', () => {
  const { simulation, reader, ends } = lab({ name: 'linux', readAhead: 2 * MB, overhead: 0 });
  simulation.run(simulation.spawn('use', pageFaults(reader, { range: { from: 0, to: 4 * MB } })));
  near(simulation.now, 0.04);
  simulation.run();
  near(simulation.now, 0.06);
  assert.is(ends.length, 2);
});

test.run();
