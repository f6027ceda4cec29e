import { createWorkload } from '../../engine/model/workload.ts';
import type { Trace } from '../../engine/trace/trace.ts';
import type { Moment } from '../../simulator/observer.ts';
import { simulate } from '../../simulator/simulate.ts';
import { SCENE_MODEL, type Scene, SEEN } from './scenes.ts';

/** The contents of the device's memory at one moment. Layers are counted from 1, as in the figures. */
export interface Step {
  /** `begin`: the device has finished the previous token; `prefetched`; `computes`: a layer's computation begins. */
  readonly event: 'begin' | 'prefetched' | 'computes';
  /** The layer of the event; at `begin`, the last layer computed. */
  readonly layer: number;
  /** The layer's computation waited for the disk. */
  readonly waited: boolean;
  /** Seconds since the beginning. */
  readonly time: number;
  /** Share of each layer that is in memory, 0 to 1, in the order of the layers. */
  readonly residency: ReadonlyMap<number, number>;
}

export interface SceneResult {
  readonly scene: Scene;
  /** Steps of one token in steady state. */
  readonly steps: readonly Step[];
  /** Number of times that each layer is loaded per token. */
  readonly loads: ReadonlyMap<number, number>;
}

/**
 * How Linux reclaims. `overflow`, prima.cpp's ideal, is omitted: what exceeds the memory bypasses it and
 * leaves nothing to observe after its use.
 */
export const SCENE_RECLAIMS = ['linux', 'linux-two-list'] as const;
export type SceneReclaim = (typeof SCENE_RECLAIMS)[number];

/** Number of parts in which a layer is read and evicted. */
const PARTS = 16;
/** Passes before the observed token: prefill and the first token still depend on the initial state of the cache. */
const SETTLING = 2;

/** Simulates a scene, and records what is in its device's memory whenever a layer is prefetched or computed. */
export function observeScene(scene: Scene, reclaim: SceneReclaim): SceneResult {
  const moments: Seen[] = [];
  const { trace } = simulate({
    cluster: scene.cluster,
    model: SCENE_MODEL,
    plan: scene.plan,
    workload: createWorkload({ promptTokens: 1, outputTokens: SETTLING, context: 0 }),
    context: 'fixed',
    runtime: { cpuBufferBytes: 0, gpuBufferBytes: 0, activationBytes: 4 },
    // As in the figures, a page fault blocks its computation: nothing is read ahead.
    reclaim: { name: reclaim, overhead: 0, readAhead: 0 },
    extentBytes: SCENE_MODEL.layer.bytes / PARTS,
    chunkBytes: SCENE_MODEL.layer.bytes / PARTS,
    observe: (moment) => {
      if (moment.device === SEEN) moments.push(seenAt(moment));
    },
  });
  const steps = stepsOf(moments, trace, layersInOrder(scene));
  return { scene, steps, loads: loadsOf(steps) };
}

type Seen = Pick<Moment, 'time' | 'event' | 'layer'> & Pick<Step, 'residency'>;

function seenAt({ time, event, layer, residency }: Moment): Seen {
  const shares = [...residency()].map(([index, share]): [number, number] => [index + 1, share]);
  return { time, event, layer, residency: new Map(shares) };
}

/** The device's layers, from 1, in the order of a token. */
function layersInOrder({ plan }: Scene): number[] {
  return plan.stages.filter(({ device }) => device === SEEN).map(({ from }) => from + 1);
}

/** The interval from the end of the device's part of the previous token to the end of its part of the last one. */
function stepsOf(moments: readonly Seen[], { spans }: Trace, layers: readonly number[]): Step[] {
  const ends = moments.flatMap(({ event }, index) => (event === 'computed' ? [index] : []));
  const first = ends[SETTLING * layers.length - 1] as number;
  const last = ends[(SETTLING + 1) * layers.length - 1] as number;
  const start = (moments[first] as Seen).time;
  const waits = (layer: number, time: number): boolean =>
    spans.some((span) => span.device === SEEN && span.name === `waits for layer ${layer - 1}` && span.end === time);
  // Prefetching follows the token's order, window after window, and begins a token with the first.
  let prefetched = 0;
  const steps = moments.slice(first, last).flatMap((moment, index): Step[] => {
    const common = { time: moment.time - start, residency: moment.residency };
    const layer = (moment.layer ?? 0) + 1;
    if (index === 0) return [{ ...common, event: 'begin', layer, waited: false }];
    if (moment.event === 'layer') return [{ ...common, event: 'computes', layer, waited: waits(layer, moment.time) }];
    if (moment.event !== 'prefetched') return [];
    const fetched = layers[prefetched++] as number;
    return [{ ...common, event: 'prefetched', layer: fetched, waited: false }];
  });
  // A prefetch and the computation that waits for it make one step.
  return steps.filter(({ event, layer, time }, index) => {
    const next = steps[index + 1];
    return !(event === 'prefetched' && next?.event === 'computes' && next.layer === layer && next.time === time);
  });
}

function loadsOf(steps: readonly Step[]): Map<number, number> {
  const loads = new Map<number, number>();
  steps.forEach(({ residency }, index) => {
    for (const [layer, share] of residency) {
      const before = steps[index - 1]?.residency.get(layer) ?? share;
      loads.set(layer, (loads.get(layer) ?? 0) + Math.max(0, share - before));
    }
  });
  return loads;
}
