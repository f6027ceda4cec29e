import type { Simulation } from './event-loop/simulation.ts';
import type { MappedWeights } from './hardware/weights-layout.ts';
import type { PageCache } from './page-cache/page-cache.ts';

/** What has just happened on a device. */
export type MomentEvent = 'read' | 'prefetched' | 'layer' | 'computed' | 'released';

/** A moment of a simulation, for whoever wants to see what is in memory then. */
export interface Moment {
  /** Seconds since the simulation began. */
  readonly time: number;
  readonly device: string;
  /**
   * `read`: the disk has brought something; `prefetched`: a stage that was asked for is in memory, was, or, asked for
   * by MADV_WILLNEED, is on its way; `layer`: a layer's weights are there and it is about to be computed; `computed`: it
   * has been; `released`: a window has been given back, as far as the plan says.
   */
  readonly event: MomentEvent;
  /** Of `layer` and `computed`. */
  readonly layer: number | undefined;
  /** Share of each mapped layer of the device that is in memory, 0 to 1, by layer; valid during the call. */
  residency(): ReadonlyMap<number, number>;
}

/** Tells that something happens now on one device. */
export type Observer = (event: MomentEvent, layer?: number) => void;

interface ObserverParts {
  readonly simulation: Simulation;
  readonly device: string;
  readonly cache: PageCache;
  readonly weights: MappedWeights;
  readonly observe: ((moment: Moment) => void) | undefined;
}

/** @returns undefined where nobody wants to be told */
export function createObserver({ simulation, device, cache, weights, observe }: ObserverParts): Observer | undefined {
  if (observe === undefined) return undefined;
  const residency = (): ReadonlyMap<number, number> => {
    const ranges = cache.residentRanges();
    const share = (layer: number): number => {
      const { from, to } = weights.layer(layer) ?? { from: 0, to: 0 };
      const inside = ranges.reduce(
        (sum, range) => sum + Math.max(0, Math.min(to, range.to) - Math.max(from, range.from)),
        0,
      );
      return inside / (to - from);
    };
    return new Map(weights.layers.map((layer) => [layer, share(layer)]));
  };
  return (event, layer) => observe({ time: simulation.now, device, event, layer, residency });
}
