import { predict } from '../../engine/cost/predict.ts';
import { type Cluster, createCluster, withoutGpus } from '../../engine/hardware/cluster.ts';
import type { Model } from '../../engine/model/model.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import type { SplitPlan } from '../../engine/plan/plan.ts';
import type { Sample } from '../../engine/profile/sample.ts';
import { cpuGpuSplit, partitionUnits, splitPlan, usesGpu } from '../../engine/schedule/helm/cpu-gpu-split.ts';
import { metrics } from '../../engine/trace/metrics.ts';
import { simulate } from '../../simulator/simulate.ts';

/** Seconds to the first token of a warm model, and per token after it. */
export interface Times {
  readonly ttft: number;
  readonly tpot: number;
}
export const PHASES = ['tpot', 'ttft'] as const;
export type Phase = (typeof PHASES)[number];

/** A boundary k: the first k partition units on the CPU, the others on the GPU (HELM 4.1.1). */
export interface Split {
  readonly cpuUnits: number;
  /** The GPU's first layers whose experts are on the CPU; missing: none. */
  readonly cpuExperts?: number;
  readonly plan: SplitPlan;
}

/** Times of one split. */
export interface MeasuredSplit {
  readonly ttft: Sample;
  readonly tpot: Sample;
  /** Seconds of every decoded token that counts. */
  readonly tokens: readonly number[];
}

/** A split with its three answers. */
export interface SplitAnswers extends Split {
  readonly predicted: Times;
  readonly simulated: Times;
  readonly measured: MeasuredSplit;
  /** Whether HELM's search chooses it for decoding, or for prompts. */
  readonly chosen: Readonly<Record<Phase, boolean>>;
}

export const ANSWERS = ['predicted', 'simulated'] as const;
export type Answer = (typeof ANSWERS)[number];

/** Relative deviation of an answer from the measured median: 0.05 is 5 % too slow. */
export function deviation(split: SplitAnswers, answer: Answer, phase: Phase): number {
  return split[answer][phase] / split.measured[phase].median - 1;
}

/** Every k from 0, all on the GPU, to L + 2, all on the CPU. */
export function allSplits(model: Model): Split[] {
  return Array.from({ length: partitionUnits(model) + 1 }, (_, cpuUnits) => splitOf(model, cpuUnits));
}

/**
 * A mixture's splits with experts of GPU layers on the CPU: of every number of layers where all are on the GPU (k = 1), and
 * of all the GPU's layers where they aren't; none of a dense model, and where the last layer has no experts.
 */
export function crossedSplits(model: Model): Split[] {
  const { layers, kinds } = model;
  if (kinds.at(-1)?.feedForward?.kind !== 'experts') return [];
  const first = kinds.findIndex(({ feedForward }) => feedForward?.kind === 'experts');
  return [
    ...Array.from({ length: layers - first }, (_, index) => splitOf(model, 1, first + index + 1)),
    ...Array.from({ length: layers - 1 }, (_, index) => splitOf(model, index + 2, layers - index - 1)),
  ];
}

function splitOf(model: Model, cpuUnits: number, cpuExperts?: number): Split {
  const plan = splitPlan(DEVICE, model, cpuUnits, 'with-layers', cpuExperts);
  if (plan.kind !== 'split') throw new RangeError(`a plan of kind "${plan.kind}"`);
  return { cpuUnits, plan, ...(cpuExperts !== undefined && { cpuExperts }) };
}

/** The name of this machine in plans and cluster files. */
export const DEVICE = 'this machine';

/** Bytes per second of a disk that takes no time: measured models are in memory before they run. */
const NO_DISK = 1e14;

/** Predicts, simulates and chooses splits on a machine that is known by a profile alone. */
export function answersBy(
  profile: Cluster,
  {
    model,
    promptTokens,
    outputTokens,
  }: { readonly model: Model; readonly promptTokens: number; readonly outputTokens: number },
) {
  const warm = profile.devices.map((device) => ({
    ...device,
    name: DEVICE,
    disk: { sequential: NO_DISK, random: NO_DISK },
  }));
  const machine = createCluster({ ...profile, devices: warm });
  // The mean over the tokens that are decoded.
  const context = promptTokens + Math.round((outputTokens - 1) / 2);
  const workload = createWorkload({ promptTokens, outputTokens, context });
  const chosenFor = (objective: 'decode' | 'prefill') =>
    cpuGpuSplit({ belief: machine, model, workload }, { objective, formulas: 'sum', kvCache: 'with-layers' }).best;
  const chosen = { tpot: chosenFor('decode'), ttft: chosenFor('prefill') };
  const timesOf = (plan: SplitPlan, batch: number): Readonly<Record<Answer, Times>> => {
    // As in the search: nothing crosses to a GPU that a plan doesn't use.
    const truth = usesGpu(plan) ? machine : withoutGpus(machine);
    const parts = { plan, truth, model, workload: { ...workload, batch } };
    const { trace } = simulate({ ...parts, cluster: truth, record: 'tokens' });
    const { firstTokenSeconds = Number.NaN, tokenSeconds = Number.NaN } = metrics(trace);
    return {
      predicted: { ttft: predict({ ...parts, phase: 'prefill' }).tokenSeconds, tpot: predict(parts).tokenSeconds },
      simulated: { ttft: firstTokenSeconds, tpot: tokenSeconds },
    };
  };
  return {
    /** Seconds of a step in which this many requests decode together. */
    batch({ plan }: Split, batch: number): Readonly<Record<Answer, number>> {
      const { predicted, simulated } = timesOf(plan, batch);
      return { predicted: predicted.tpot, simulated: simulated.tpot };
    },
    split({ plan, cpuUnits, cpuExperts }: Split): Pick<SplitAnswers, Answer | 'chosen'> {
      const isChosen = (best: ReturnType<typeof chosenFor>): boolean =>
        best?.cpuUnits === cpuUnits && best.cpuExperts === cpuExperts;
      return { ...timesOf(plan, 1), chosen: { tpot: isChosen(chosen.tpot), ttft: isChosen(chosen.ttft) } };
    },
  };
}
