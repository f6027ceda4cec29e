import { gpuWeightBytes } from '../engine/cost/memory.ts';
import { plannedRuntime } from '../engine/cost/runtime.ts';
import { cutDevices, cutMemory } from '../engine/cost/tensor-parallel.ts';
import { type Cluster, createCluster } from '../engine/hardware/cluster.ts';
import { isDiscrete } from '../engine/hardware/device.ts';
import type { Plan } from '../engine/plan/plan.ts';
import { metrics } from '../engine/trace/metrics.ts';
import type { SecondsRange } from '../engine/trace/token-figures.ts';
import { secondsRange } from '../simulator/memory-range.ts';
import { simulate } from '../simulator/simulate.ts';
import { steadySeconds } from '../simulator/steady-seconds.ts';
import type { Question } from './question.ts';

/** Simulated seconds; infinite if the run ends out of memory. */
export interface SimulatedTimes {
  /** TPOT in steady state, with the workload's context in the KV cache. */
  readonly tokenSeconds: number;
  /** TTFT of the prompt with all weights on disk; those that are not mapped are loaded before. */
  readonly coldSeconds: number;
  /** TTFT with the page cache as a token before the prompt leaves it. */
  readonly warmSeconds: number;
}

/**
 * Simulates a plan, with each operating system's own way to reclaim: in the steady state, and once from disk, once warm.
 * @param tokenSeconds simulatedTokenSeconds of the plan, where it is known
 */
export function simulatedTimes(
  question: Question,
  plan: Plan,
  tokenSeconds = simulatedTokenSeconds(question, plan),
): SimulatedTimes {
  if (tokenSeconds === Number.POSITIVE_INFINITY)
    return { tokenSeconds, coldSeconds: tokenSeconds, warmSeconds: tokenSeconds };
  const coldSeconds = loadingSeconds(question, plan) + firstTokenSeconds(question, plan, false);
  return { tokenSeconds, coldSeconds, warmSeconds: firstTokenSeconds(question, plan, true) };
}

/** TPOT in steady state, seconds; infinite if the run ends out of memory. */
export function simulatedTokenSeconds({ cluster, model, workload }: Question, plan: Plan): number {
  const runtime = plannedRuntime(model, workload);
  const seconds = steadySeconds({ cluster, model, workload, reclaim: 'os', runtime }, plan);
  return typeof seconds === 'number' ? seconds : Number.POSITIVE_INFINITY;
}

/**
 * The range of TPOT where devices have a little less or more memory than they report (secondsRange); `undefined` where that
 * changes nothing that is printed.
 */
export function simulatedTokenRange({ cluster, ...asked }: Question, plan: Plan): SecondsRange | undefined {
  const withShare = (share: number): Cluster =>
    createCluster({
      ...cluster,
      devices: cluster.devices.map(({ memory, ...device }) => ({
        ...device,
        memory: { ...memory, available: Math.min(memory.total, share * memory.available) },
      })),
    });
  const range = secondsRange((share) => simulatedTokenSeconds({ ...asked, cluster: withShare(share) }, plan));
  return range.most <= range.least * (1 + SAME_SHARE) ? undefined : range;
}

/** Times that differ by a smaller share are printed as one. */
const SAME_SHARE = 0.05;

function firstTokenSeconds({ cluster, model, workload }: Question, plan: Plan, isWarm: boolean): number {
  const { trace } = simulate({
    ...{ cluster, model, plan, runtime: plannedRuntime(model, workload) },
    ...{ workload: { ...workload, outputTokens: 0 }, context: 'fixed', record: 'tokens' },
    // Only mapped weights are in the page cache.
    warm: isWarm && (plan.kind === 'ring' || plan.kind === 'split'),
  });
  return metrics(trace).firstTokenSeconds as number;
}

/**
 * Seconds until weights that are not mapped have been read from disks: layers in the memory of a GPU of its own, the
 * parts of cut tensors, all weights of a chip whose processors share operators. Devices load at the same time, and a
 * GPU's weights pass over its link as they are read.
 */
function loadingSeconds({ cluster, model, workload }: Question, plan: Plan): number {
  const runtime = plannedRuntime(model, workload);
  const cuts = plan.kind === 'tensor-parallel' ? cutDevices(plan, cluster) : [];
  const seconds = cluster.devices.map(({ name, disk, gpu }) => {
    const cut = cuts.find((one) => one.name === name);
    if (cut !== undefined) return cutMemory(cut, { model, workload, runtime }).weights / disk.sequential;
    if (plan.kind === 'chip') return plan.output.device === name ? model.bytes / disk.sequential : 0;
    if (!isDiscrete(gpu)) return 0;
    return gpuWeightBytes(plan, model, name) / Math.min(disk.sequential, gpu.hostLink.bandwidth);
  });
  return Math.max(...seconds);
}
