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
): Required<Task> {
  const calculating = flops / rates.flops;
  return { seconds: Math.max(calculating, bytes / rates.bandwidth), bytes, calculating };
}
