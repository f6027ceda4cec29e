import type { GpuQueue } from '../../hardware/device.ts';
import type { Task } from './shared-memory.ts';

/** FLOPs and bytes of a kernel. */
export interface KernelWork {
  readonly flops: number;
  readonly bytes: number;
}

/**
 * A kernel on a GPU, which takes as long as its arithmetic or its memory traffic, whichever is longer: its FLOP rate is
 * proportional to FLOPs per byte up to a threshold, and constant above (HeteroLLM 3.1, Fig. 2).
 * @param rates FLOP and bytes per second
 */
export function gpuTask(
  { flops, bytes }: KernelWork,
  rates: { readonly flops: number; readonly bandwidth: number },
): Task {
  return { seconds: Math.max(flops / rates.flops, bytes / rates.bandwidth), bytes };
}

/**
 * Seconds of kernels that are submitted one after the other without waiting: a kernel starts when it has been submitted
 * and the previous one has ended. Submission is hidden if kernels take longer (HeteroLLM 3.1).
 */
export function queuedSeconds(kernels: readonly Task[], { queued }: Pick<GpuQueue, 'queued'>): number {
  let end = 0;
  kernels.forEach(({ seconds }, index) => {
    end = Math.max(end, (index + 1) * queued) + seconds;
  });
  return end;
}
