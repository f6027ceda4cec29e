import type { PublishedCell } from '../../datasets/published.ts';
import { predict } from '../../engine/cost/predict.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import type { Model } from '../../engine/model/model.ts';
import type { Workload } from '../../engine/model/workload.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import { cpuGpuSplit, type SplitCandidate } from '../../engine/schedule/helm/cpu-gpu-split.ts';
import { type PublishedConfiguration, type PublishedLatency, publishedConfiguration } from './published.ts';

/** A model on a machine: the result of the search, and the thesis's. */
export interface Configuration {
  readonly machine: string;
  readonly model: Model;
  /** The requested name; with the mix of formats if that isn't the catalogue's. */
  readonly label: string;
  readonly curve: readonly SplitCandidate[];
  readonly chosen: Choice | undefined;
  /** Why there is no choice. */
  readonly reason: string;
  readonly published: PublishedConfiguration;
}

export interface Choice {
  readonly plan: Plan;
  /** k* and its T_plan. */
  readonly split: SplitCandidate;
  /** T̂ = T_plan + N δ̄ (HELM 6.4.4), seconds. */
  readonly correctedSeconds: number;
  /** N δ̄, seconds. */
  readonly overheadSeconds: number;
  /** Weights that the CPU reads for a token, bytes, and the bandwidth that it is described with. */
  readonly cpuReadBytes: number;
  readonly cpuBandwidth: number;
}

export interface ConfigurationTask {
  readonly cluster: Cluster;
  readonly model: Model;
  readonly label: string;
  readonly workload: Workload;
  readonly cells: readonly PublishedCell[];
}

/** Searches the split of one model on the head of a cluster, and looks up what HELM reports of it. */
export function configuration({ cluster, model, label, workload, cells }: ConfigurationTask): Configuration {
  const found = cpuGpuSplit({ belief: cluster, model, workload });
  return {
    machine: cluster.name,
    model,
    label,
    curve: found.curve,
    chosen: found.plan && found.best && choiceOf(found.plan, found.best, { cluster, model, workload }),
    reason: found.plan === undefined ? found.message : '',
    published: publishedConfiguration(cells, cluster.name, model.name),
  };
}

function choiceOf(
  plan: Plan,
  split: SplitCandidate,
  { cluster, model, workload }: Pick<ConfigurationTask, 'cluster' | 'model' | 'workload'>,
): Choice {
  const corrected = predict({ plan, truth: cluster, model, workload, formulas: 'roofline', overhead: 'per-block' });
  const cpuLayers = corrected.devices[0]?.cpuLayers ?? 0;
  return {
    plan,
    split,
    correctedSeconds: corrected.tokenSeconds,
    overheadSeconds: corrected.seconds.overhead,
    cpuBandwidth: cluster.devices[0]?.cpu.bandwidth ?? 0,
    cpuReadBytes: cpuLayers * model.layer.bytes + (plan.output.processor === 'cpu' ? model.output.bytes : 0),
  };
}

/** T̂ over a published latency. */
export function latencyRatio({ chosen }: Configuration, { seconds }: PublishedLatency): number | undefined {
  return chosen && chosen.correctedSeconds / seconds;
}

/** Whether T̂ lies within the noise around a published latency. */
export function withinNoise({ chosen }: Configuration, { seconds, noiseSeconds }: PublishedLatency): boolean {
  return chosen !== undefined && Math.abs(chosen.correctedSeconds - seconds) <= noiseSeconds;
}

/** N δ̄ alone exceeds what was measured, so it can't be a part of it. */
export function overheadExceeds({ chosen }: Configuration, { seconds }: PublishedLatency): boolean {
  return chosen !== undefined && chosen.overheadSeconds > seconds;
}

/**
 * Bytes per second at which the CPU reads its weights if all else is as predicted, from the time that a latency leaves
 * after T_GPU, T_comm and N δ̄. Undefined if the CPU reads none, or no time is left.
 */
export function impliedCpuRate({ chosen }: Configuration, { seconds }: PublishedLatency): number | undefined {
  if (chosen === undefined || chosen.cpuReadBytes === 0) return undefined;
  const left = seconds - chosen.split.gpuSeconds - chosen.split.copySeconds - chosen.overheadSeconds;
  return left > 0 ? chosen.cpuReadBytes / left : undefined;
}

/**
 * δ̄ that would make T_plan + N δ̄ a published latency, seconds. For plans without CPU blocks, on which the thesis
 * calibrates δ̄; undefined for others.
 */
export function impliedOverhead({ chosen, model }: Configuration, { seconds }: PublishedLatency): number | undefined {
  if (chosen === undefined || chosen.cpuReadBytes > 0) return undefined;
  return (seconds - chosen.split.tokenSeconds) / model.layers;
}

/** Whether the search chose the printed split; `undefined` if none is printed. */
export function agrees({ chosen, published }: Configuration): boolean | undefined {
  if (published.failed) return chosen === undefined;
  return published.split && chosen?.split.gpuUnits === published.split.gpuUnits;
}

/** `21→17`: units on CPU and GPU. */
export function splitText(split: { cpuUnits: number; gpuUnits: number } | undefined): string {
  return split === undefined ? '' : `${split.cpuUnits}→${split.gpuUnits}`;
}
