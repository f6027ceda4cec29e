import type { ProcessorRates } from '../../hardware/device.ts';
import type { Task } from './shared-memory.ts';

/** FLOPs and bytes of a kernel. */
export interface KernelWork {
  readonly flops: number;
  readonly bytes: number;
  /** Bytes of KV cache that attention processes, over all tokens; missing: it isn't attention. */
  readonly attended?: number;
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

/** A kernel between operators: attention takes its measured rate where there is one, and its FLOPs otherwise. */
export function kernelTask(
  { attended, ...work }: KernelWork,
  { flops, bandwidth, attention }: ProcessorRates,
  phase: 'prefill' | 'decode',
): Required<Task> {
  const task = gpuTask(work, { flops: flops.F16, bandwidth });
  if (attended === undefined || attention === undefined) return task;
  const calculating = attended / (phase === 'prefill' ? attention.cache : attention.memory);
  return { ...task, seconds: Math.max(calculating, work.bytes / bandwidth), calculating };
}
