import { InputError } from '../../input/input-error.ts';
import type { Workload } from '../../model/workload.ts';
import { checkPromptLength } from '../check-prompt-length.ts';
import type { LayerSeconds } from '../layer-seconds.ts';
import { stepBound } from '../step-bound.ts';
import { phaseCost, type SocPhase, type StepCost } from './phase.ts';

/** A chip among the devices of a ring: seconds of a layer, and of the output layer, as they are cut. */
export interface ChipSeconds {
  readonly layer: LayerSeconds;
  readonly output: LayerSeconds;
}

/**
 * What one layer takes a chip that cuts its operators between GPU and NPU: the sum over its steps of T_total (HeteroLLM
 * 4.3), so that a ring's planners can take the chip as they take any device. Copies and hand-overs are overhead, and so
 * is what submissions hold up: where the NPU has parts, of kernels that are shorter; where the GPU has all, what a
 * layer's submissions take beyond its kernels.
 * @throws InputError for more than one request, or for a prompt of another length than was cut
 */
export function chipSeconds(parts: Omit<SocPhase, 'context'>, workload: Workload): ChipSeconds {
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
