import { gpuTask } from '../../engine/cost/mobile-gpu.ts';
import { type OperatorParts, operatorParts } from '../../engine/cost/operator-cost.ts';
import type { SocCase } from '../../engine/cost/predict-soc.ts';
import type { Task } from '../../engine/cost/shared-memory.ts';
import { cutOf, tokensOf } from '../../engine/cost/soc-phase.ts';
import { type SocStep, socSteps } from '../../engine/cost/soc-steps.ts';
import { LAYER_OPERATORS, operatorShapes } from '../../engine/model/operators.ts';
import type { Workload } from '../../engine/model/workload.ts';
import type { ChipParts } from '../hardware/chip-parts.ts';
import { createGpuQueue, type GpuQueue } from '../hardware/gpu-queue.ts';
import { createNpu, type Npu } from '../hardware/npu.ts';
import type { Steps } from '../kernel/effect.ts';
import { hold } from '../kernel/hold.ts';
import { handOverFast, handOverNaively } from './soc-hand-over.ts';

export interface SocParts extends ChipParts, SocCase {
  readonly workload: Workload;
  /** Tokens in the KV cache while token `index` is decoded. */
  readonly contextOf: (index: number) => number;
  /** The KV cache grows to so many tokens. */
  readonly grow: (context: number) => void;
}

/** The chip in a run. */
export interface Chip {
  readonly parts: SocParts;
  readonly gpu: GpuQueue;
  readonly npu: Npu;
  /** The next kernel is submitted already: the hand-over before it has paid for that. */
  isSubmitted: boolean;
}

/** A step of a layer with its parts, each as it goes alone. */
interface PlannedStep extends OperatorParts {
  readonly name: string;
}

/**
 * One request on a chip (HeteroLLM 4): the CPU is the control plane, which submits kernel after kernel to the GPU's
 * queue and, where the NPU has a part of an operator, waits for its input, notifies the NPU, and goes on when the NPU is
 * done. GPU and NPU share the memory.
 */
export function* soc(parts: SocParts): Steps {
  const { simulation, recorder, partition, device, model, workload } = parts;
  const isPrepared = (tokens: number): boolean => partition.graphs === 'prepared' || tokens === 1;
  const chip: Chip = {
    parts,
    gpu: createGpuQueue(parts),
    npu: createNpu(parts, device.soc.npu, isPrepared),
    isSubmitted: false,
  };
  const shapes = operatorShapes(model);
  for (let index = 0; index <= workload.outputTokens; index++) {
    const phase = index === 0 ? 'prefill' : 'decode';
    const context = parts.contextOf(index);
    parts.grow(context);
    const start = simulation.now;
    if (phase === 'prefill') {
      for (const name of LAYER_OPERATORS) {
        for (const length of partition.prefill[name].npuLengths) yield* chip.npu.prepare(shapes[name], length);
      }
    }
    const steps = socSteps(model, phase === 'prefill' ? partition.promptTokens : 1, context);
    const plan = (step: SocStep): PlannedStep => plannedStep(step, parts, phase);
    const layer = steps.layer.map(plan);
    for (let at = 0; at < model.layers; at++)
      for (const step of layer) yield* run(chip, step, `layer ${at}, ${step.name}`);
    for (const step of steps.output.map(plan)) yield* run(chip, step, step.name);
    yield* chip.gpu.drain();
    recorder.token({ phase, start, end: simulation.now });
  }
}

function plannedStep(step: SocStep, parts: SocParts, phase: 'prefill' | 'decode'): PlannedStep {
  const { device } = parts;
  if (step.kind === 'kernel') {
    const gpu = gpuTask(step.work, { flops: device.gpu.flops.F16, bandwidth: device.gpu.bandwidth });
    return { name: step.name, gpu, npu: { seconds: 0, bytes: 0 } };
  }
  const { operator } = step;
  const inPhase = { partition: parts.partition, phase };
  const cut = cutOf(inPhase, operator.name);
  return { name: operator.name, ...operatorParts({ operator, cut, tokens: tokensOf(inPhase, operator.name) }, device) };
}

function* run(chip: Chip, { gpu, npu }: PlannedStep, name: string): Steps {
  if (npu.seconds === 0) {
    yield* submit(chip, name, gpu);
    return;
  }
  const handOver = chip.parts.partition.synchronisation === 'fast' ? handOverFast : handOverNaively;
  yield* handOver(chip, name, { gpu, npu });
}

function* submit(chip: Chip, name: string, task: Task): Steps {
  if (!chip.isSubmitted) yield hold(chip.parts.device.soc.gpu.queued);
  chip.isSubmitted = false;
  chip.gpu.submit(name, task);
}
