import type { GpuQueue } from '../../hardware/device.ts';
import type { Task } from './shared-memory.ts';

/** FLOPs and bytes of a kernel. */
export interface KernelWork {
  readonly flops: number;
  readonly bytes: number;
}

/**
 * A kernel on a GPU: as long as its arithmetic, or as its memory traffic, whichever is longer. So its FLOP rate grows in
 * proportion to FLOPs per byte up to a threshold, and is level from there (HeteroLLM 3.1, Fig. 2).
 * @param rates FLOP and bytes per second
 */
export function gpuTask(
  { flops, bytes }: KernelWork,
  rates: { readonly flops: number; readonly bandwidth: number },
): Task {
  return { seconds: Math.max(flops / rates.flops, bytes / rates.bandwidth), bytes };
}

/**
 * Seconds of kernels that are submitted one after the other without waiting for any: a kernel starts when it is
 * submitted and the one before has ended. Submitting is hidden where kernels are longer (HeteroLLM 3.1).
 */
export function queuedSeconds(kernels: readonly Task[], { queued }: Pick<GpuQueue, 'queued'>): number {
  let end = 0;
  kernels.forEach(({ seconds }, index) => {
    end = Math.max(end, (index + 1) * queued) + seconds;
  });
  return end;
}
