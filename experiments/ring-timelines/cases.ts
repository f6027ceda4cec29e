import type { Cluster } from '../../engine/hardware/cluster.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import { ringPlan } from '../../engine/plan/ring-plan.ts';
import { ALIKE_FAST, ALIKE_SLOW, MIXED } from './rings.ts';

export const PANELS = ['a', 'b', 'c', 'd', 'e', 'f'] as const;
export type Panel = (typeof PANELS)[number];

/** A panel of Fig. 6, or a plan to compare a panel with. */
export interface TimelineCase {
  /** The panel's letter; `b, PP` is vanilla PP on the devices of panel b, which the paper doesn't draw. */
  readonly key: Panel | 'b, PP';
  readonly title: string;
  readonly cluster: Cluster;
  readonly plan: Plan;
}

const EQUAL = [2, 2, 2, 2];

/**
 * prima.cpp Fig. 6 (A.2). Its caption counts (c, e) as PRP on heterogeneous devices, and (d, e) as vanilla PP with and
 * without prefetching; section 3.1 and A.2 speak of 6c and 6f as PRP, and of 6e as PP with prefetching. The text is
 * followed here.
 */
export const TIMELINE_CASES: readonly TimelineCase[] = [
  { key: 'a', title: 'PRP, equal devices, fast disks', cluster: ALIKE_FAST, plan: ring(ALIKE_FAST, 4, EQUAL) },
  { key: 'b', title: 'PRP, equal devices, slow disks', cluster: ALIKE_SLOW, plan: ring(ALIKE_SLOW, 4, EQUAL) },
  { key: 'c', title: 'PRP, different devices, equal windows', cluster: MIXED, plan: ring(MIXED, 4, EQUAL) },
  {
    key: 'd',
    title: 'PP, different devices, no prefetching',
    cluster: MIXED,
    plan: ring(MIXED, 1, [8, 8, 8, 8], 'none'),
  },
  { key: 'e', title: 'PP, different devices, prefetching', cluster: MIXED, plan: ring(MIXED, 1, [8, 8, 8, 8]) },
  { key: 'f', title: 'PRP, different devices, windows to match', cluster: MIXED, plan: ring(MIXED, 4, [3, 2, 2, 1]) },
  {
    key: 'b, PP',
    title: 'PP, equal devices, slow disks, no prefetching',
    cluster: ALIKE_SLOW,
    plan: ring(ALIKE_SLOW, 1, [8, 8, 8, 8], 'none'),
  },
];

function ring(
  { devices }: Cluster,
  rounds: number,
  layers: readonly number[],
  prefetch: 'none' | 'willneed' = 'willneed',
): Plan {
  const windows = devices.map(({ name }, index) => ({ device: name, layers: layers[index] ?? 0, gpuLayers: 0 }));
  return ringPlan({ scheduler: 'hand', head: devices[0]?.name ?? '', rounds, windows, prefetch });
}
