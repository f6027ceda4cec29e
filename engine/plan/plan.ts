import type { ProcessorKind } from '../hardware/device.ts';
import type { TensorPartition } from './tensor-partition.ts';
import type { FittedPolicy, WeightsPolicy } from './weights-policy.ts';

/** Device and processor on which something is computed. */
export interface Place {
  readonly device: string;
  readonly processor: ProcessorKind;
}

/** A device's part of every tensor of a cut stage, and of its KV cache. */
export interface Cut {
  readonly device: string;
  /** Above 0; the shares of a stage add up to 1. */
  readonly share: number;
}

/**
 * Place of the output layer, and, on a chip with an NPU, how its operators are cut, which is the same as in the
 * chip's layers.
 */
export interface OutputPlace extends Place {
  readonly partition?: TensorPartition;
  /** On a GPU with its own memory: the weights lie in RAM and are copied to the GPU for every token (see Stage). */
  readonly streamed?: 'in-turn';
}

/** A run of layers on one processor: `from` (included) to `to` (excluded). */
export interface Stage extends Place {
  readonly from: number;
  readonly to: number;
  /**
   * Layer streaming, on a GPU with its own memory: the weights lie in RAM and are copied to the GPU layer by layer for
   * every token. `ahead`: each layer is copied while the one before it computes (DeepSpeed ZeRO-Inference); `in-turn`:
   * each is copied just before it computes (Hugging Face Accelerate).
   */
  readonly streamed?: 'ahead' | 'in-turn';
  /**
   * On a GPU of a split: its first layers of which the CPU has the experts, while all else is on the GPU (llama.cpp's
   * `--n-cpu-moe`, which counts from the model's first layer). Missing: none.
   */
  readonly cpuExperts?: number;
  /**
   * On a chip with an NPU: the NPU's part of every operator; the stage's GPU has the rest (HeteroLLM). All stages of a
   * chip have the same partition.
   */
  readonly partition?: TensorPartition;
}

/** All layers, with every tensor cut among devices. The stage's own device is one of them, the root. */
export interface CutStage extends Stage {
  readonly cut: readonly Cut[];
}

/** A device's part of the experts of a plan that divides them. */
export interface ExpertHolder {
  readonly device: string;
  /** By layer with experts, in their order: the numbers of those that the device holds, ascending. */
  readonly experts: readonly (readonly number[])[];
}

/** All layers on a chip whose GPU and NPU share every operator. */
export interface ChipStage extends Stage {
  readonly partition: TensorPartition;
}

/** The properties of every plan. */
interface PlanBase {
  /** The scheduler that made it, or `hand`. */
  readonly scheduler: string;
  /** k: how many times a token goes around the ring. */
  readonly rounds: number;
  /** Place of the embedding; its device is the head of the ring. */
  readonly embedding: Place;
  readonly output: OutputPlace;
  /** Weights policies by device name. A device that is not named leaves its weights to its operating system. */
  readonly weights: Readonly<Record<string, WeightsPolicy>>;
  /** `with-layers`: each layer's keys and values lie where the layer runs; `host`: all in RAM (HELM's KV offload). */
  readonly kvCache: 'with-layers' | 'host';
}

/** The way from one device to another over others, which hand hidden states on (prima.cpp 3.3). */
export interface Relay {
  readonly from: string;
  readonly to: string;
  /** In the order in which a token passes them; at least one. */
  readonly via: readonly string[];
}

/** Devices in a ring, each of which runs whole layers and sends the hidden state on (prima.cpp). */
export interface RingPlan extends PlanBase {
  readonly kind: 'ring';
  /** In the order in which a token visits them, over all rounds. */
  readonly stages: readonly Stage[];
  /** How hidden states get from one device to another that it doesn't reach, or only slowly, by hop; missing: directly. */
  readonly relays?: readonly Relay[];
}

/** One device has the whole model, divided between its CPU and GPU (HELM, llama.cpp) or streamed to its GPU. */
export interface SplitPlan extends PlanBase {
  readonly kind: 'split';
  readonly stages: readonly Stage[];
}

/**
 * Tensor parallelism (Megatron-LM; dllama): tensors are cut among CPUs, which work on each layer at the same time and
 * sum their partial results after attention and after the feed-forward network. All weights stay in memory.
 */
export interface TensorParallelPlan extends PlanBase {
  readonly kind: 'tensor-parallel';
  readonly stages: readonly [CutStage];
  /**
   * How devices sum their partial results. `exchange`: each sends its own to every other device, and each computes the
   * sum; `star`: each sends its own to the root, which sends the sum back.
   */
  readonly allReduce: 'exchange' | 'star';
}

/**
 * Expert parallelism (Lepikhin et al. 2021, GShard): the head has what every token uses, and every holder, the head among
 * them if it is named, some experts of each layer that has any. The head sends tokens to the holders of the experts that
 * they chose, and adds up what comes back. All weights stay in memory.
 */
export interface ExpertParallelPlan extends PlanBase {
  readonly kind: 'expert-parallel';
  /** All layers, on the head's CPU. */
  readonly stages: readonly [Stage];
  /** Every expert of every layer has one holder. */
  readonly holders: readonly ExpertHolder[];
}

/**
 * One chip has the whole model, from the embedding to the output layer, and its GPU and NPU share every operator
 * (HeteroLLM); all weights stay in memory. A chip in a ring is a device of a RingPlan.
 */
export interface ChipPlan extends PlanBase {
  readonly kind: 'chip';
  readonly stages: readonly [ChipStage];
}

/**
 * An assignment of layers to devices, and their order: the common input of predictions, simulations and real runs.
 * Plain data that JSON represents as it is. createPlan determines the kind.
 */
export type Plan = RingPlan | SplitPlan | TensorParallelPlan | ExpertParallelPlan | ChipPlan;
/** The kinds of plans. */
export const PLAN_KINDS = [
  'ring',
  'split',
  'tensor-parallel',
  'expert-parallel',
  'chip',
] as const satisfies Plan['kind'][];
/** The kind of a plan: which system carries it out. */
export type PlanKind = (typeof PLAN_KINDS)[number];

/** A plan without open choices (`fit`) in its weights policies. */
export type FittedPlan = Plan & { readonly weights: Readonly<Record<string, FittedPolicy>> };

/** A device's share of a plan, over all rounds. A layer that is cut counts as a fraction. */
export interface Share {
  readonly device: string;
  readonly cpuLayers: number;
  readonly gpuLayers: number;
  /** Visits of a token to the device. */
  readonly windows: number;
}

/** The share of every device that holds layers, in order of the first visit. */
export function planShares(plan: Plan): Share[] {
  const shares = new Map<string, { cpuLayers: number; gpuLayers: number; windows: number }>();
  plan.stages.forEach((stage, index) => {
    for (const { device, share: part } of partsOf(stage)) {
      const share = shares.get(device) ?? { cpuLayers: 0, gpuLayers: 0, windows: 0 };
      if (stage.processor === 'cpu') share.cpuLayers += (stage.to - stage.from) * part;
      else share.gpuLayers += (stage.to - stage.from) * part;
      if (plan.stages[index - 1]?.device !== device) share.windows += 1;
      shares.set(device, share);
    }
  });
  return [...shares].map(([device, share]) => ({ device, ...share }));
}

function partsOf(stage: Stage | CutStage): readonly Cut[] {
  return 'cut' in stage ? stage.cut : [{ device: stage.device, share: 1 }];
}

/** How each chip of a valid plan cuts its operators between GPU and NPU, by device; empty if none does. */
export function chipPartitions({ stages, output }: Plan): ReadonlyMap<string, TensorPartition> {
  const partitions = new Map<string, TensorPartition>();
  for (const { device, partition } of stages) if (partition !== undefined) partitions.set(device, partition);
  if (output.partition !== undefined) partitions.set(output.device, output.partition);
  return partitions;
}

/** Whether a device of a plan caches experts and reads the others when a router chooses them. */
export function cachesExperts({ weights }: Pick<Plan, 'weights'>): boolean {
  for (const device in weights) if (weights[device]?.experts !== undefined) return true;
  return false;
}
