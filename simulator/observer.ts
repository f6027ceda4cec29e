import type { Simulation } from './event-loop/simulation.ts';
import type { WeightsLayout } from './hardware/weights-layout.ts';
import type { PageCache } from './page-cache/page-cache.ts';

/** Event that has just happened on a device. */
export type MomentEvent = 'read' | 'prefetched' | 'layer' | 'computed' | 'released';

/** A moment of a simulation at which residency may have changed. */
export interface Moment {
  /** Seconds since the simulation began. */
  readonly time: number;
  readonly device: string;
  /**
   * `read`: the disk has read something; `prefetched`: a range has been prefetched (with MADV_WILLNEED, its reads have
   * been submitted); `layer`: a layer's weights are in memory and it is about to be computed; `computed`: it has been
   * computed; `released`: a window has been run, and released if the plan says so.
   */
  readonly event: MomentEvent;
  /** The layer of `layer` and `computed` events. */
  readonly layer: number | undefined;
  /** Share of each mapped layer of the device that is in memory, 0 to 1, by layer; valid during the call. */
  residency(): ReadonlyMap<number, number>;
}

/** Reports that something happens now on one device. */
export type Observer = (event: MomentEvent, layer?: number) => void;

interface ObserverParts {
  readonly simulation: Simulation;
  readonly device: string;
  readonly cache: PageCache;
  readonly weights: WeightsLayout;
  readonly observe: (moment: Moment) => void;
}

/** Reports moments of one device to `observe`. */
export function createObserver({ simulation, device, cache, weights, observe }: ObserverParts): Observer {
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
