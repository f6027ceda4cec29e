import type { ProcessorRates } from '../../hardware/device.ts';
import type { Task } from './shared-memory.ts';

/** A task whose time is divided into arithmetic and waiting. */
export type Worked = Task & Required<Pick<Task, 'calculating'>>;

/** FLOPs and bytes of a kernel. */
export interface KernelWork {
  readonly flops: number;
  readonly bytes: number;
  /** Bytes of KV cache that attention processes, over all tokens; missing: it isn't attention. */
  readonly attended?: number;
  /** The first kernel of a layer; the layer's time outside kernels and operators is counted with it. */
  readonly isFirst?: boolean;
}

/**
 * A kernel on a GPU, which takes as long as its arithmetic or its memory traffic, whichever is longer: its FLOP rate is
 * proportional to FLOPs per byte up to a threshold, and constant above (HeteroLLM 3.1, Fig. 2).
 * @param rates FLOP and bytes per second
 */
export function gpuTask(
  { flops, bytes }: KernelWork,
  rates: { readonly flops: number; readonly bandwidth: number },
): Worked {
  const calculating = flops / rates.flops;
  return { seconds: Math.max(calculating, bytes / rates.bandwidth), bytes, calculating };
}

/** Values of activations are FP16 on a chip (HeteroLLM 5.1), and rates of elementwise operations are of F32. */
const F32_PER_FP16 = 2;

/**
 * A kernel between operators. Attention takes its measured rate where there is one, and its FLOPs otherwise; other kernels
 * take the measured rate of elementwise operations, or the memory's. A layer's first carries what was measured of
 * handing over work and of small operations.
 */
export function kernelTask(
  { attended, isFirst = false, ...work }: KernelWork,
  { flops, bandwidth, attention, activationBandwidth, dispatch = 0 }: ProcessorRates,
  phase: 'prefill' | 'decode',
): Worked {
  const task = gpuTask(work, { flops: flops.F16, bandwidth });
  if (attended === undefined) {
    const own = activationBandwidth === undefined ? task.seconds : (F32_PER_FP16 * work.bytes) / activationBandwidth;
    return { ...task, seconds: own + (isFirst ? dispatch : 0) };
  }
  if (attention === undefined) return task;
  const calculating = attended / (phase === 'prefill' ? attention.cache : attention.memory);
  return { ...task, seconds: Math.max(calculating, work.bytes / bandwidth), calculating };
}
