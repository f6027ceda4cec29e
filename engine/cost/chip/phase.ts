import type { ChipDevice } from '../../hardware/chip.ts';
import { InputError } from '../../input/input-error.ts';
import type { KvFormat } from '../../model/kv-format.ts';
import type { Model } from '../../model/model.ts';
import { LAYER_OPERATORS, modelOperators, type OperatorName } from '../../model/operators.ts';
import type { Workload } from '../../model/workload.ts';
import type { OperatorCut, TensorPartition } from '../../plan/tensor-partition.ts';
import { activityOfPair, addActivity, type ChipActivity, NO_ACTIVITY } from '../energy.ts';
import { kernelTask } from './gpu.ts';
import { graphSeconds } from './npu.ts';
import { operatorCost, operatorParts } from './operator.ts';
import type { PartTimes } from './part-times.ts';
import { demandOf, type Ends, NO_TASK, type Task } from './shared-memory.ts';
import { type ChipStep, type ChipTokens, chipSteps } from './steps.ts';
import { submissionWaits } from './submission.ts';

/** The cost of one step, and how often it runs. */
export interface StepCost {
  readonly name: string;
  readonly kind: ChipStep['kind'];
  /** Number of executions: one per layer, or one after the last layer. */
  readonly times: number;
  readonly afterLayers: boolean;
  /** Seconds of one execution. */
  readonly seconds: number;
  readonly ends: Ends;
  readonly sync: number;
  readonly copy: number;
  readonly gpu: Task;
  readonly npu: Task;
}

/** The cost of a prompt, or of one token. */
export interface PhaseCost {
  /** Seconds of all steps, and of `graphs` and `waits`. */
  readonly seconds: number;
  readonly steps: readonly StepCost[];
  /** Seconds of generating graphs before the phase begins. */
  readonly graphs: number;
  /** Seconds in which the GPU waits for submissions, over the whole phase. */
  readonly waits: number;
  readonly activity: ChipActivity;
}

export interface ChipPhase {
  readonly device: ChipDevice;
  readonly model: Model;
  readonly partition: TensorPartition;
  readonly phase: 'prefill' | 'decode';
  /** Tokens that are decoded together: γ + 1 where a draft is verified; 1 unless given. */
  readonly decoded?: number;
  /** Tokens in the KV cache while a token is decoded; ignored in prefill. */
  readonly context: number;
  /** Number format of the KV cache; F16 unless given. */
  readonly kvFormat?: KvFormat | undefined;
  /** Seconds of products from a profile; the chip's closed forms by default. */
  readonly times?: PartTimes;
}

/** An operator's work in a phase. */
export interface PhaseWork {
  readonly cut: OperatorCut;
  readonly tokens: number;
  readonly phase: ChipPhase['phase'];
}

/**
 * The work of an operator in a phase. The output layer has one token of a prompt, which is cut and multiplied as in
 * decoding. Several decoded tokens have the cut of one, in a graph of their number: graphs are made beforehand for the
 * tokens that are decoded, "one for standard decoding and n for speculative decoding" (HeteroLLM 4.1.2).
 */
export function workOf(
  { partition, phase, decoded = 1 }: Pick<ChipPhase, 'partition' | 'phase' | 'decoded'>,
  name: OperatorName,
): PhaseWork {
  if (phase === 'prefill' && name !== 'output')
    return { cut: partition.prefill[name], tokens: partition.promptTokens, phase };
  const tokens = phase === 'prefill' ? 1 : decoded;
  const { npuRows } = partition.decode[name];
  return { cut: { npuRows, npuLengths: npuRows === 0 ? [] : [tokens] }, tokens, phase: 'decode' };
}

/** The tokens of a phase, for its steps. */
export function tokensOf({
  partition,
  phase,
  decoded = 1,
  context,
  kvFormat,
}: Omit<ChipPhase, 'device' | 'model'>): ChipTokens {
  return { phase, tokens: phase === 'prefill' ? partition.promptTokens : decoded, context, kvFormat };
}

/**
 * The cost of a prompt or of decoding: the sum of T_total over operators (HeteroLLM 4.3) and of the GPU's own kernels, each
 * of which takes as long as its work, and of the waits for submissions that no work hides.
 */
export function phaseCost(parts: ChipPhase): PhaseCost {
  const { device, model, phase } = parts;
  const { layer, output } = chipSteps(model, tokensOf(parts));
  const steps = [
    ...layer.map((step) => stepCost(step, model.layers, parts)),
    ...output.map((step) => ({ ...stepCost(step, 1, parts), afterLayers: true })),
  ];
  const graphs = phase === 'prefill' ? onlineGraphSeconds(parts) : 0;
  const waits = submissionWaits(steps, model.layers, device.soc.gpu);
  const seconds = graphs + waits + steps.reduce((sum, step) => sum + step.times * step.seconds, 0);
  const worked = (sum: ChipActivity, { times, gpu, npu, ends }: StepCost): ChipActivity =>
    addActivity(sum, activityOfPair(gpu, npu, ends), times);
  const activity = { ...steps.reduce(worked, NO_ACTIVITY), seconds };
  return { seconds, steps, graphs, waits, activity };
}

function stepCost(step: ChipStep, times: number, parts: ChipPhase): StepCost {
  const { device, partition, times: profile } = parts;
  if (step.kind === 'kernel') {
    const gpu = kernelTask(step.work, device.gpu, parts.phase);
    const ends = { first: gpu.seconds, second: 0 };
    return {
      name: step.name,
      kind: step.kind,
      times,
      afterLayers: false,
      seconds: gpu.seconds,
      ends,
      sync: 0,
      copy: 0,
      gpu,
      npu: NO_TASK,
    };
  }
  const { operator } = step;
  const tasks = operatorParts({ operator, ...workOf(parts, operator.name) }, device, profile);
  return {
    name: operator.name,
    kind: step.kind,
    times,
    afterLayers: false,
    ...operatorCost(tasks, device, partition.synchronisation),
  };
}

/**
 * Seconds to generate graphs that aren't prepared: one for each operator and length of the prompt (Online-prepare,
 * 5.2.2).
 */
function onlineGraphSeconds({ device, model, partition }: ChipPhase): number {
  if (partition.graphs === 'prepared') return 0;
  const operators = modelOperators(model);
  return LAYER_OPERATORS.reduce((sum, name) => {
    const lengths = new Set(partition.prefill[name].npuLengths);
    return [...lengths].reduce((inner, length) => inner + graphSeconds(operators[name], length, device.soc.npu), sum);
  }, 0);
}

/** Whether arithmetic or memory bounds a step, judged by the part that ends last, the GPU's or the NPU's. */
export function stepBound({ ends, gpu, npu }: StepCost, device: ChipDevice): 'compute' | 'memory' {
  const work = Math.max(ends.first, ends.second);
  const [last, bandwidth] = ends.second > ends.first ? [npu, device.npu.bandwidth] : [gpu, device.gpu.bandwidth];
  return work > last.seconds || demandOf(last) >= bandwidth * (1 - 1e-12) ? 'memory' : 'compute';
}

/** @throws InputError if the prompt's length differs from the one that operators are cut for */
export function checkPromptLength(workload: Workload, { promptTokens }: TensorPartition): void {
  if (workload.promptTokens === promptTokens) return;
  const found = `is ${workload.promptTokens}, but the plan cuts a prompt of ${promptTokens}`;
  throw new InputError('workload.promptTokens', `${found}; make a plan for this one`);
}
