import { gpuTask } from '../../engine/cost/mobile-gpu.ts';
import { type OperatorParts, operatorParts } from '../../engine/cost/operator-cost.ts';
import type { SocCase } from '../../engine/cost/predict-soc.ts';
import { NO_TASK, type Task } from '../../engine/cost/shared-memory.ts';
import { cutOf, tokensOf } from '../../engine/cost/soc-phase.ts';
import { type SocStep, socSteps } from '../../engine/cost/soc-steps.ts';
import type { Steps } from '../event-loop/effect.ts';
import { hold } from '../event-loop/hold.ts';
import type { ChipParts } from '../hardware/chip-parts.ts';
import { createGpuQueue, type GpuQueue } from '../hardware/gpu-queue.ts';
import { createNpu, type Npu } from '../hardware/npu.ts';
import { handOverFast, handOverNaively } from './soc-hand-over.ts';

/** A chip, what it runs, and how that is cut. */
export type ChipCase = ChipParts & SocCase;

/** A chip in a run. */
export interface Chip {
  readonly parts: ChipCase;
  readonly gpu: GpuQueue;
  readonly npu: Npu;
  /** The next kernel is submitted already: the hand-over before it has paid for that. */
  isSubmitted: boolean;
}

/** A step with its parts, each as it goes alone. */
export interface ChipStep extends OperatorParts {
  readonly name: string;
}

/** The steps of every layer, and those after the last. */
export interface ChipSteps {
  readonly layer: readonly ChipStep[];
  readonly output: readonly ChipStep[];
}

export function createChip(parts: ChipCase): Chip {
  const { partition, device } = parts;
  const isPrepared = (tokens: number): boolean => partition.graphs === 'prepared' || tokens === 1;
  return { parts, gpu: createGpuQueue(parts), npu: createNpu(parts, device.soc.npu, isPrepared), isSubmitted: false };
}

/** What a chip does in a phase, cut as its partition says. @param context tokens in the KV cache while a token is decoded */
export function chipSteps(chip: SocCase, phase: 'prefill' | 'decode', context: number): ChipSteps {
  const { model, partition, device } = chip;
  const { layer, output } = socSteps(model, phase === 'prefill' ? partition.promptTokens : 1, context);
  const rates = { flops: device.gpu.flops.F16, bandwidth: device.gpu.bandwidth };
  const planned = (step: SocStep): ChipStep => {
    if (step.kind === 'kernel') return { name: step.name, gpu: gpuTask(step.work, rates), npu: NO_TASK };
    const { operator } = step;
    const { name } = operator;
    const inPhase = { partition, phase };
    const cut = { operator, cut: cutOf(inPhase, name), tokens: tokensOf(inPhase, name) };
    return { name, ...operatorParts(cut, device) };
  };
  return { layer: layer.map(planned), output: output.map(planned) };
}

/**
 * Steps one after the other (HeteroLLM 4): the CPU is the control plane, which submits kernel after kernel to the GPU's
 * queue and, where the NPU has a part of an operator, waits for its input, notifies the NPU, and goes on when the NPU is
 * done. GPU and NPU share the memory. It ends when all is submitted: what follows may have to drain the GPU's queue.
 * @param prefix of the names in the trace
 */
export function* runSteps(chip: Chip, steps: readonly ChipStep[], prefix: string): Steps {
  const handOver = chip.parts.partition.synchronisation === 'fast' ? handOverFast : handOverNaively;
  for (const step of steps) {
    const name = prefix + step.name;
    if (step.npu.seconds === 0) yield* submit(chip, name, step.gpu);
    else yield* handOver(chip, name, step);
  }
}

function* submit(chip: Chip, name: string, task: Task): Steps {
  if (!chip.isSubmitted) yield hold(chip.parts.device.soc.gpu.queued);
  chip.isSubmitted = false;
  chip.gpu.submit(name, task);
}
