import { createRingCosts, type DeviceCosts } from '../engine/cost/ring-costs.ts';
import { cutMemory } from '../engine/cost/tensor-parallel.ts';
import { type Cluster, reaches, withDevices } from '../engine/hardware/cluster.ts';
import type { Plan } from '../engine/plan/plan.ts';
import { cuttableHeads, tensorParallel } from '../engine/schedule/baselines/tensor-parallel.ts';
import type { PlanningProblem } from './question.ts';

/** Most devices whose groups are all compared where links differ; of more devices, only the fastest form a group. */
const MOST_GROUPED = 5;

/**
 * Plans that cut every tensor evenly among the CPUs of 2, 4, 8 … devices, as dllama does, the cluster's first device as
 * the root. With one link for all pairs, and equal shares, the fastest devices that have room for a share are the best
 * group; where links differ, every group is planned. A group's devices all reach each other.
 */
export function tensorCuts(problem: PlanningProblem): Plan[] {
  const { belief, model } = problem;
  const [root, ...others] = createRingCosts(belief, model, problem.workload, problem.runtime).devices;
  if (root === undefined) return [];
  const most = Math.min(belief.devices.length, cuttableHeads(model));
  const sizes = [2, 4, 8, 16, 32, 64].filter((size) => size <= most);
  return sizes.flatMap((size) => {
    if (!holdsShare(problem, root, 1 / size, true)) return [];
    const able = others.filter((device) => holdsShare(problem, device, 1 / size, false));
    return groups(belief, able, size - 1)
      .map((group) => [root, ...group].map(({ name }) => name))
      .filter((names) => names.every((one, at) => names.slice(at + 1).every((other) => reaches(belief, one, other))))
      .flatMap((names) => tensorParallel({ ...problem, belief: withDevices(belief, names) }).plan ?? []);
  });
}

function groups({ links }: Cluster, able: readonly DeviceCosts[], size: number): (readonly DeviceCosts[])[] {
  if (able.length < size) return [];
  const fastest = able.toSorted((one, other) => one.cpuLayer - other.cpuLayer);
  const isUniform = links.pairs.size === 0 && links.unreachable === undefined;
  return isUniform || able.length > MOST_GROUPED ? [fastest.slice(0, size)] : choices(fastest, size);
}

function choices<Item>(items: readonly Item[], size: number): (readonly Item[])[] {
  if (size === 0) return [[]];
  return items.flatMap((item, at) => choices(items.slice(at + 1), size - 1).map((rest) => [item, ...rest]));
}

/**
 * Whether a device has room for its share of all layers, of the KV cache, and of the ends of the model if it is the root:
 * in all of its RAM, as createTensorPredictor counts it.
 */
function holdsShare(
  problem: PlanningProblem,
  { name, kind, available }: DeviceCosts,
  share: number,
  isRoot: boolean,
): boolean {
  const { devices } = problem.belief;
  const index = devices.findIndex((device) => device.name === name);
  const { weights, fixed } = cutMemory({ name, index, share, isRoot }, problem);
  return weights + fixed <= (kind === 'android' ? available : (devices[index]?.memory.available ?? 0));
}
