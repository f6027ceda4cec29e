import type { GpuQueue } from '../../hardware/device.ts';
import { type Ends, ROUNDING, type Task } from './shared-memory.ts';

/** A step as the control thread sees it. */
interface QueuedStep {
  readonly gpu: Task;
  readonly npu: Task;
  readonly ends: Ends;
  readonly copy: number;
  /** Seconds of the step, hand-over included. */
  readonly seconds: number;
  readonly afterLayers: boolean;
}

/** When the control thread can submit the next kernel, and when the GPU has run all that it was given. */
interface Progress {
  readonly thread: number;
  readonly gpu: number;
  /** The hand-over before the next kernel already includes its submission. */
  readonly isSubmitted: boolean;
}

/**
 * Seconds in which the GPU waits for submissions while a phase runs its layers and then the steps after them
 * (HeteroLLM 3.1, 4.2). The control thread submits one kernel after the other, each taking `queued`; a kernel starts when
 * it is submitted and the previous one has ended, so that a submission is hidden if kernels take longer. If the GPU ends
 * its part of an operator after the NPU, the thread goes on submitting meanwhile; otherwise the queue has run empty,
 * which the hand-over counts.
 */
export function submissionWaits(steps: readonly QueuedStep[], layers: number, { queued }: GpuQueue): number {
  const ofLayer = steps.filter(({ afterLayers }) => !afterLayers);
  let progress: Progress = { thread: 0, gpu: 0, isSubmitted: false };
  let worked = 0;
  const run = (step: QueuedStep): void => {
    progress = stepped(progress, step, queued);
    worked += step.seconds;
  };
  for (let layer = 0; layer < layers; layer++) ofLayer.forEach(run);
  for (const step of steps) if (step.afterLayers) run(step);
  return Math.max(progress.thread, progress.gpu) - worked;
}

function stepped({ thread, gpu, isSubmitted }: Progress, step: QueuedStep, queued: number): Progress {
  if (step.npu.seconds === 0) {
    const submitted = isSubmitted ? thread : thread + queued;
    return { thread: submitted, gpu: Math.max(gpu, submitted) + step.gpu.seconds, isSubmitted: false };
  }
  const start = Math.max(thread, gpu);
  const end = start + step.seconds;
  const { first, second } = step.ends;
  const gpuEndsLast = step.copy === 0 && second < first * (1 - ROUNDING);
  return { thread: gpuEndsLast ? end - (first - second) : end, gpu: end, isSubmitted: !gpuEndsLast };
}
