import { InputError } from '../../input/input-error.ts';
import type { Workload } from '../../model/workload.ts';
import type { LayerSeconds } from '../layer-seconds.ts';
import { type ChipPhase, checkPromptLength, phaseCost, type StepCost, stepBound } from './phase.ts';
import { submissionWaits } from './submission.ts';

/** Seconds of a layer and of the output layer on a chip in a ring, for one cut of its operators. */
export interface ChipSeconds {
  readonly layer: LayerSeconds;
  readonly output: LayerSeconds;
}

/**
 * Seconds of one layer on a chip that cuts its operators between GPU and NPU: the sum of T_total over its steps
 * (HeteroLLM 4.3), so that planners treat the chip like any other device. Copies and hand-overs count as overhead, and
 * so does waiting for submissions, as in a layer that follows another.
 * @throws InputError for more than one request, or for a prompt whose length differs from the one that operators are
 *   cut for
 */
export function chipSeconds(parts: Omit<ChipPhase, 'context' | 'kvFormat'>, workload: Workload): ChipSeconds {
  const { device, partition, phase } = parts;
  if (workload.batch !== 1) {
    throw new InputError('workload.batch', `is ${workload.batch}; operators are cut for one request: use 1`);
  }
  if (phase === 'prefill') checkPromptLength(workload, partition);
  const { context, kvFormat } = workload;
  const { steps } = phaseCost({ ...parts, context, kvFormat });
  const secondsOf = (own: readonly StepCost[], waiting: number): LayerSeconds => {
    const sums = { compute: 0, memory: 0 };
    let overhead = waiting;
    for (const step of own) {
      sums[stepBound(step, device)] += Math.max(step.ends.first, step.ends.second);
      overhead += step.sync + step.copy;
    }
    return { ...sums, kvCopy: 0, overhead };
  };
  const layer = steps.filter(({ afterLayers }) => !afterLayers);
  const output = steps.filter(({ afterLayers }) => afterLayers);
  const waits = (own: readonly StepCost[], layers: number): number => submissionWaits(own, layers, device.soc.gpu);
  return {
    layer: secondsOf(layer, waits(layer, 2) - waits(layer, 1)),
    output: secondsOf(output, waits(output, 1)),
  };
}
