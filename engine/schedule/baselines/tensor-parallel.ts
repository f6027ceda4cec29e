import { createRingCosts, type DeviceCosts } from '../../cost/ring-costs.ts';
import type { Shape } from '../../model/architecture.ts';
import { keptHeads } from '../../model/layer-kind.ts';
import { createPlan } from '../../plan/create-plan.ts';
import type { Cut, TensorParallelPlan } from '../../plan/plan.ts';
import type { Scheduled, SchedulingProblem } from '../scheduler.ts';
import { proportionalShares } from './proportional-shares.ts';

export interface TensorParallelOptions {
  /** `even`: equal shares (dllama); `proportional`: whole KV heads in proportion to the CPUs' speed. */
  readonly shares?: 'even' | 'proportional';
  /**
   * How partial results are added up. dllama's nodes send theirs to every other node (its `syncNodeSlices`), and the
   * paper counts one link latency per all-reduce (prima.cpp 4.1); through the root it takes two.
   */
  readonly allReduce?: TensorParallelPlan['allReduce'];
}

/**
 * dllama: every tensor cut among the CPUs of 2^n devices, at most one device per KV head: the head and the others with
 * the most available memory. It doesn't check that memory suffices; the prediction does. The model keeps its format,
 * while dllama itself runs Q4_0.
 */
export function tensorParallel(
  problem: SchedulingProblem,
  { shares = 'even', allReduce = 'exchange' }: TensorParallelOptions = {},
): Scheduled {
  const { belief, model, workload, runtime } = problem;
  const { devices } = createRingCosts(belief, model, workload, runtime);
  const heads = cuttableHeads(model);
  const members = largestMemories(devices, 2 ** Math.floor(Math.log2(Math.min(devices.length, heads))));
  const root = devices[0]?.name ?? '';
  const place = { device: root, processor: 'cpu' } as const;
  const cut = shares === 'even' ? evenCut(members) : proportionalCut(members, heads);
  const plan = createPlan({
    scheduler: 'dllama',
    rounds: 1,
    stages: [{ ...place, from: 0, to: model.layers, cut }],
    embedding: place,
    output: place,
    weights: {},
    kvCache: 'with-layers',
    allReduce,
  });
  return { plan };
}

/** KV heads that devices can share: those of the layer with the fewest; a layer without any isn't cut. */
export function cuttableHeads({ kinds }: Pick<Shape, 'kinds'>): number {
  return Math.min(
    ...kinds.map((kind) => (kind.mixer === undefined ? Number.POSITIVE_INFINITY : (keptHeads(kind)?.kvHeads ?? 1))),
  );
}

/** The head and the devices with the most memory, in ring order. */
function largestMemories(devices: readonly DeviceCosts[], count: number): DeviceCosts[] {
  const others = devices.slice(1).sort((a, b) => b.available - a.available);
  const taken = new Set([devices[0], ...others.slice(0, count - 1)]);
  return devices.filter((device) => taken.has(device));
}

function evenCut(members: readonly DeviceCosts[]): Cut[] {
  return members.map(({ name }) => ({ device: name, share: 1 / members.length }));
}

/** Whole KV heads in proportion to speed. Devices whose share rounds to none are omitted; the root has at least one. */
function proportionalCut(members: readonly DeviceCosts[], heads: number): Cut[] {
  const speeds = members.map(({ cpuLayer }) => 1 / cpuLayer);
  const rootHeads = Math.max(1, proportionalShares(heads, speeds)[0] as number);
  const parts = [rootHeads, ...proportionalShares(heads - rootHeads, speeds.slice(1))];
  return members
    .map(({ name }, index) => ({ device: name, share: (parts[index] as number) / heads }))
    .filter(({ share }) => share > 0);
}
