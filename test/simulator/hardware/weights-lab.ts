import { createSharedRate } from '../../../simulator/event-loop/shared-rate.ts';
import { createSimulation } from '../../../simulator/event-loop/simulation.ts';
import { createWeightsReader } from '../../../simulator/hardware/weights-reader.ts';
import { createPageCache } from '../../../simulator/page-cache/page-cache.ts';
import { type Faults, MEASURED_OS_RATES, type PagePolicy } from '../../../simulator/page-cache/policies.ts';

export const MB = 1e6;
export const TWO_LISTS = { name: 'linux-two-list', readAhead: 0, overhead: 0 } as const;

/** A file of 330 MB in extents of 1 MB, read in chunks of 33 MB from a disk of 100 MB/s. */
export function lab(policy: PagePolicy, limit = Number.POSITIVE_INFINITY, faults: Partial<Faults> = {}) {
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
      ...faults,
    },
    chunkBytes: 33 * MB,
    faultsOnly: false,
    onRead: ({ end }) => ends.push(end),
  });
  return { simulation, cache, reader, ends };
}
