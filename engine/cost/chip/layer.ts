import { InputError } from '../../input/input-error.ts';
import type { Workload } from '../../model/workload.ts';
import type { LayerSeconds } from '../layer-seconds.ts';
import { type ChipPhase, checkPromptLength, phaseCost, type StepCost, stepBound } from './phase.ts';

/** Seconds of a layer and of the output layer on a chip in a ring, for one cut of its operators. */
export interface ChipSeconds {
  readonly layer: LayerSeconds;
  readonly output: LayerSeconds;
}

/**
 * Seconds of one layer on a chip that cuts its operators between GPU and NPU: the sum of T_total over its steps
 * (HeteroLLM 4.3), so that planners treat the chip like any other device. Copies and hand-overs count as overhead, and
 * so does waiting for submissions: per kernel if the NPU has parts, else the excess of a layer's submissions over its
 * kernels.
 * @throws InputError for more than one request, or for a prompt whose length differs from the one that operators are
 *   cut for
 */
export function chipSeconds(parts: Omit<ChipPhase, 'context'>, workload: Workload): ChipSeconds {
  const { device, partition, phase } = parts;
  if (workload.batch !== 1) {
    throw new InputError('workload.batch', `is ${workload.batch}; operators are cut for one request: use 1`);
  }
  if (phase === 'prefill') checkPromptLength(workload, partition);
  const { steps } = phaseCost({ ...parts, context: workload.context });
  const secondsOf = (own: readonly StepCost[]): LayerSeconds => {
    const sums = { compute: 0, memory: 0 };
    let overhead = waitingSeconds(own, device.soc.gpu.queued);
    for (const step of own) {
      sums[stepBound(step, device)] += Math.max(step.ends.first, step.ends.second);
      overhead += step.sync + step.copy;
    }
    return { ...sums, kvCopy: 0, overhead };
  };
  return {
    layer: secondsOf(steps.filter(({ afterLayers }) => !afterLayers)),
    output: secondsOf(steps.filter(({ afterLayers }) => afterLayers)),
  };
}

/** Seconds in which the GPU waits for submissions. */
function waitingSeconds(steps: readonly StepCost[], queued: number): number {
  const onGpu = steps.filter(({ npu }) => npu.seconds === 0);
  if (onGpu.length < steps.length) return onGpu.reduce((sum, { gpu }) => sum + Math.max(0, queued - gpu.seconds), 0);
  return Math.max(0, onGpu.length * queued - onGpu.reduce((sum, { gpu }) => sum + gpu.seconds, 0));
}
