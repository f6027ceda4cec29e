import type { TensorPartition } from '../plan/tensor-partition.ts';

/** What the running program adds to the weights: sizes that the formulas take as given. */
export interface Runtime {
  /** c^cpu, c^gpu: compute buffers, bytes (prima.cpp Table 6). */
  readonly cpuBufferBytes: number;
  readonly gpuBufferBytes: number;
  /** Bytes of a value that travels between devices: 4 (F32) in prima.cpp, 2 in HELM (Eq. 4.4). */
  readonly activationBytes: number;
  /**
   * How the program on each chip cuts operators between GPU and NPU, by device: what schedulers plan with, before a plan
   * says it. The others' GPUs run whole operators.
   */
  readonly partitions?: ReadonlyMap<string, TensorPartition>;
}

/**
 * Buffers: assumed. They hold a few hundred tokens' activations and one token's logits (128256 × 4 B × 512 = 250 MiB at
 * llama.cpp's default batch for prompts). Activations: published, prima.cpp A.3 ("values … in the FP32 format").
 */
export const DEFAULT_RUNTIME: Runtime = {
  cpuBufferBytes: 256 * 2 ** 20,
  gpuBufferBytes: 256 * 2 ** 20,
  activationBytes: 4,
};

/**
 * What Hugging Face Accelerate's hooks add to every layer that they move to the GPU, seconds. Assumed: a layer is about
 * a dozen modules, each with a hook that looks its tensors up, allocates and starts copies, about 0.1 ms of Python. No
 * published cell may be fitted to; HELM only calls the dispatch slow (1).
 */
export const HOOK_SECONDS = 1.2e-3;
