import { pairKey } from '../../hardware/cluster.ts';
import type { Window } from '../../plan/windows.ts';
import { LinkLostError } from './errors.ts';
import type { RingHead } from './head.ts';
import type { MeasuredRingLink } from './inquiries.ts';

/** Links between workers, as seen by a ring through all of them. */
export interface LinkSurvey {
  /** The workers in the order in which they were linked. */
  readonly order: readonly string[];
  readonly links: readonly MeasuredRingLink[];
  /** Pairs of workers that don't reach each other, as far as they were tried. */
  readonly unreachable: readonly (readonly [string, string])[];
}

/**
 * Measures the links of a ring without layers through all workers. Where one doesn't reach the next, another order is
 * tried; where there is none, the head stands between the two, since it reaches all.
 * @param log called for each pair that is found not to reach each other
 */
export async function surveyLinks(
  head: Pick<RingHead, 'assemble' | 'measure' | 'readmit'>,
  { own, workers }: { readonly own: string; readonly workers: readonly string[] },
  log: (line: string) => void,
): Promise<LinkSurvey> {
  const unreachable: [string, string][] = [];
  const apart = new Set<string>();
  // Terminates, since each failure rules out one more pair.
  for (;;) {
    const order = linkedOrder(workers, apart);
    const stops = order.flatMap((worker, index) =>
      index > 0 && apart.has(pairKey(order[index - 1] as string, worker)) ? [own, worker] : [worker],
    );
    try {
      await head.assemble({ windows: stops.map((device): Window => ({ device, from: 0, to: 0 })), weights: {} });
      return { order, links: await head.measure(), unreachable };
    } catch (error) {
      if (!(error instanceof LinkLostError)) throw error;
      const { from, device, reason } = error;
      log(`${from} doesn’t reach ${device} (${reason}); tries other ways`);
      head.readmit(device);
      unreachable.push([from, device]);
      apart.add(pairKey(from, device));
    }
  }
}

/** Steps after which the search for an order gives up. */
const MOST_STEPS = 10_000;

/** An order in which each reaches the next, the given one if possible; the given one if none is found. */
function linkedOrder(workers: readonly string[], apart: ReadonlySet<string>): readonly string[] {
  let steps = 0;
  const extend = (order: readonly string[]): readonly string[] | undefined => {
    if (order.length === workers.length) return order;
    for (const next of workers) {
      if (steps++ > MOST_STEPS) return undefined;
      const last = order.at(-1);
      if (order.includes(next) || (last !== undefined && apart.has(pairKey(last, next)))) continue;
      const found = extend([...order, next]);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  return extend([]) ?? workers;
}
