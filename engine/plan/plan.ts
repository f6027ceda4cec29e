import type { ProcessorKind } from '../hardware/device.ts';
import type { TensorPartition } from './tensor-partition.ts';
import type { FittedPolicy, WeightsPolicy } from './weights-policy.ts';

/** A place of computation. */
export interface Place {
  readonly device: string;
  readonly processor: ProcessorKind;
}

/** A device's part of every tensor of a cut stage, and of its KV cache. */
export interface Cut {
  readonly device: string;
  /** Above 0; those of a stage add up to 1. */
  readonly share: number;
}

/** Where the output layer runs; on a chip with an NPU, how it is cut, as the chip's layers are. */
export interface OutputPlace extends Place {
  readonly partition?: TensorPartition;
}

/** A run of layers on one processor: `from` up to, not including, `to`. */
export interface Stage extends Place {
  readonly from: number;
  readonly to: number;
  /**
   * Layer streaming, on a GPU with its own memory: the weights lie in RAM and are copied to the GPU layer by layer, for
   * every token. `ahead`: each while the layer before it computes (DeepSpeed ZeRO-Inference); `in-turn`: each before it
   * computes (Hugging Face Accelerate).
   */
  readonly streamed?: 'ahead' | 'in-turn';
  /**
   * On a chip with an NPU: what part of every operator the NPU has; the stage's GPU has the rest (HeteroLLM). One for all
   * that a plan gives to the GPU of one chip.
   */
  readonly partition?: TensorPartition;
}

/** All layers, each of whose tensors is cut among devices; the stage's own device, the root, is one of them. */
export interface CutStage extends Stage {
  readonly cut: readonly Cut[];
}

/** All layers on a chip whose GPU and NPU share every operator. */
export interface ChipStage extends Stage {
  readonly partition: TensorPartition;
}

/** What every plan says. */
interface PlanBase {
  /** The scheduler that made it, or `hand`. */
  readonly scheduler: string;
  /** k: how often a token goes around the ring. */
  readonly rounds: number;
  /** Where the token is embedded; its device is the head of the ring. */
  readonly embedding: Place;
  readonly output: OutputPlace;
  /** By device name. A device that is not named leaves its weights to its operating system. */
  readonly weights: Readonly<Record<string, WeightsPolicy>>;
  /** `with-layers`: each layer's keys and values lie where the layer runs; `host`: all in RAM (HELM's KV offload). */
  readonly kvCache: 'with-layers' | 'host';
}

/** Devices hand a token around, each with whole layers (prima.cpp). */
export interface RingPlan extends PlanBase {
  readonly kind: 'ring';
  /** In the order in which a token visits them, over all rounds. */
  readonly stages: readonly Stage[];
  /** Devices without layers that hand the token on where they lie between two others in the ring (prima.cpp 3.3). */
  readonly relays?: readonly string[];
}

/** One device has everything, its layers on its CPU and its GPU (HELM, llama.cpp), or streamed to its GPU. */
export interface SplitPlan extends PlanBase {
  readonly kind: 'split';
  readonly stages: readonly Stage[];
}

/**
 * Tensor parallelism (Megatron-LM; dllama): tensors are cut among CPUs, which work on each layer at the same time and add
 * up their results after its attention and after its feed-forward part. Their parts stay in memory.
 */
export interface TensorParallelPlan extends PlanBase {
  readonly kind: 'tensor-parallel';
  readonly stages: readonly [CutStage];
  /**
   * How devices add up what they have of a layer. `exchange`: each sends its partial result to every other, and adds up
   * for itself; `star`: each sends it to the root, which sends the sum back.
   */
  readonly allReduce: 'exchange' | 'star';
}

/**
 * One chip has everything, from the embedding to the output layer, and its GPU and NPU share every operator (HeteroLLM);
 * its weights never leave the memory. In a ring chips are devices among others.
 */
export interface ChipPlan extends PlanBase {
  readonly kind: 'chip';
  readonly stages: readonly [ChipStage];
}

/**
 * Which layers run where, in what order: the one thing that predictions, simulations and real runs all take. Plain
 * data: JSON in, JSON out. createPlan tells the kinds apart.
 */
export type Plan = RingPlan | SplitPlan | TensorParallelPlan | ChipPlan;
export const PLAN_KINDS = ['ring', 'split', 'tensor-parallel', 'chip'] as const satisfies Plan['kind'][];
export type PlanKind = (typeof PLAN_KINDS)[number];

/** A plan whose weights policies leave nothing to the devices' memories. */
export type FittedPlan = Plan & { readonly weights: Readonly<Record<string, FittedPolicy>> };

/** A device's share of a plan, over all rounds. A layer that is cut counts by the part of it. */
export interface Share {
  readonly device: string;
  readonly cpuLayers: number;
  readonly gpuLayers: number;
  /** Visits of a token to the device. */
  readonly windows: number;
}

/** The share of every device that holds layers, in the order of the first visit. */
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
