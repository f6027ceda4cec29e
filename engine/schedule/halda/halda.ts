import { createRingCosts } from '../../cost/ring-costs.ts';
import { type Cluster, withDevices } from '../../hardware/cluster.ts';
import { ringPlan } from '../../plan/ring-plan.ts';
import { singleDevice } from '../baselines/single-device.ts';
import type { IntegerSolver } from '../integer-solver.ts';
import { type NoPlan, noPlan, type Scheduled, type SchedulingProblem } from '../scheduler.ts';
import { algorithm1, type HaldaAssignment, type HaldaIteration, type HaldaSolution } from './algorithm-1.ts';
import { ALGORITHM_1, type HaldaOptions } from './options.ts';

export type HaldaResult = Scheduled & { readonly iterations: readonly HaldaIteration[] };

/** The devices of a belief, and their assignment by Algorithm 1. */
interface Candidate {
  readonly belief: Cluster;
  readonly assignment: HaldaAssignment;
}

/**
 * Halda: Algorithm 1 and device selection (prima.cpp 3.3). If selection leaves the head alone, the plan is that of
 * llama.cpp on it (singleDevice). The result lists every pass of Algorithm 1's loop.
 * @param solver from loadIntegerSolver
 */
export function halda(
  problem: SchedulingProblem,
  solver: IntegerSolver,
  options: HaldaOptions = ALGORITHM_1,
): HaldaResult {
  const { name: scheduler } = options;
  const { layers, name } = problem.model;
  const iterations: HaldaIteration[] = [];
  const assign = (belief: Cluster): Candidate => {
    const costs = createRingCosts(belief, problem.model, problem.workload, problem.runtime);
    const assignment = algorithm1(costs, solver, options);
    iterations.push(...assignment.iterations);
    return { belief, assignment };
  };
  if (problem.belief.devices.length > layers && options.surplusDevices === 'fail') {
    return { ...surplus(problem.belief.devices.length, layers), iterations };
  }
  const chosen = removeDevices(assign(withoutSurplus(problem.belief, layers)), assign, options);
  const { solution, failure } = chosen.assignment;
  if (failure !== undefined) return { ...failure, iterations };
  if (solution === undefined) {
    const message = `no assignment of the devices to memory sets that Algorithm 1 tries can hold ${name}; try halda-repaired or optimal`;
    return { ...noPlan('no-set-assignment', message), iterations };
  }
  const { devices } = chosen.belief;
  if (devices.length === 1) {
    const single = singleDevice({ ...problem, belief: chosen.belief });
    return { ...(single.plan === undefined ? single : { plan: { ...single.plan, scheduler } }), iterations };
  }
  const windows = devices.map((device, index) => ({
    device: device.name,
    layers: solution.windows[index] as number,
    gpuLayers: solution.gpuLayers[index] as number,
  }));
  const head = devices[0]?.name ?? '';
  return { plan: ringPlan({ scheduler, head, rounds: solution.rounds, windows }), iterations };
}

/** Device selection: removes devices with a single layer as the option says, and plans the others anew. */
function removeDevices(start: Candidate, assign: (belief: Cluster) => Candidate, { removal }: HaldaOptions): Candidate {
  let current = start;
  while (removal !== 'none' && current.assignment.solution !== undefined) {
    const { belief, assignment } = current;
    const single = devicesWithOneLayer(belief, assignment.solution as HaldaSolution);
    if (single.length === 0) break;
    const without = (names: readonly string[]): Candidate => {
      const kept = belief.devices.map((device) => device.name).filter((name) => !names.includes(name));
      return assign(withDevices(belief, kept));
    };
    if (removal === 'one-layer') {
      current = without(single);
      continue;
    }
    const limit = (assignment.solution as HaldaSolution).objective;
    const better = single.map((name) => without([name])).filter((candidate) => objective(candidate) <= limit);
    const [best] = better.sort((one, other) => objective(one) - objective(other));
    if (best === undefined) break;
    current = best;
  }
  return current;
}

function devicesWithOneLayer(belief: Cluster, { rounds, windows }: HaldaSolution): string[] {
  return belief.devices
    .filter((_, index) => index > 0 && rounds * (windows[index] as number) === 1)
    .map(({ name }) => name);
}

function objective({ assignment }: Candidate): number {
  return assignment.solution?.objective ?? Number.POSITIVE_INFINITY;
}

/** The head and the devices with the most memory, at most one device per layer. */
function withoutSurplus(belief: Cluster, layers: number): Cluster {
  if (belief.devices.length <= layers) return belief;
  const memory = (index: number): number => {
    const device = belief.devices[index];
    return (device?.memory.available ?? 0) + (device?.gpu?.memory.available ?? 0);
  };
  const others = belief.devices.map((_, index) => index).slice(1);
  const kept = [0, ...others.sort((one, other) => memory(other) - memory(one)).slice(0, layers - 1)];
  return withDevices(
    belief,
    kept.map((index) => belief.devices[index]?.name ?? ''),
  );
}

function surplus(devices: number, layers: number): NoPlan {
  const message = `${devices} devices for ${layers} layers: Algorithm 1 gives each at least one (Eq. 2); leave ${devices - layers} devices out`;
  return noPlan('more-devices-than-layers', message);
}
