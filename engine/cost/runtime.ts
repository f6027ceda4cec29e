import { meanWidths, type Shape } from '../model/architecture.ts';
import { keptHeads } from '../model/layer-kind.ts';
import type { Workload } from '../model/workload.ts';
import type { TensorPartition } from '../plan/tensor-partition.ts';

/** Sizes that depend on the running program and that the formulas take as given. */
export interface Runtime {
  /** c^cpu, c^gpu: compute buffers, bytes (prima.cpp Table 6). */
  readonly cpuBufferBytes: number;
  readonly gpuBufferBytes: number;
  /** Bytes of RAM that a ring's head has in addition to c^cpu for inputs and logits; none unless given. */
  readonly headBufferBytes?: number;
  /** Bytes of a value that travels between devices: 4 (F32) in prima.cpp, 2 in HELM (Eq. 4.4). */
  readonly activationBytes: number;
  /**
   * How the program on each chip cuts operators between GPU and NPU, by device: what schedulers plan with, before a
   * plan says it. The others' GPUs run whole operators.
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
 * Time that Hugging Face Accelerate's hooks add to every layer that they move to the GPU, seconds. Assumed: a layer is
 * about a dozen modules, each with a hook that looks its tensors up, allocates and starts copies, about 0.1 ms of
 * Python. No published cell may be fitted to; HELM only calls the dispatch slow (1).
 */
export const HOOK_SECONDS = 1.2e-3;

/** Prompt tokens that llama.cpp computes at once by default (n_ubatch), which determine the size of its buffers. */
const PHYSICAL_BATCH = 512;
/** Activations are F32. */
const VALUE_BYTES = 4;

/**
 * c^cpu, c^gpu of llama.cpp and prima.cpp: bytes of the buffer that holds a graph's activations, sized for a batch of
 * prompt tokens at a full KV cache. Whichever is largest: logits and a hidden state (V + H values a token); gate and
 * up and two hidden states (2F + 2H); attention scores and mask and four hidden states ((heads + 1)·n_ctx + 4H).
 *
 * The terms are those that prima.cpp reckons with itself (llama_model_compute_buf_size of April 2025, without gate and
 * up). They come to what llama.cpp logs: 258.5 MiB for Llama 3 8B at 2048 tokens, 164.0 and 2144.0 MiB for Mistral 7B
 * at 2048 and 32768.
 * @param contextTokens n_ctx: tokens that the KV cache has room for
 */
export function computeBufferBytes(shape: Shape, contextTokens: number): number {
  const { vocabularySize } = shape;
  const { hiddenSize, ffnSize } = meanWidths(shape);
  const heads = Math.max(...shape.kinds.map((kind) => keptHeads(kind)?.heads ?? 0));
  const values = Math.max(
    vocabularySize + hiddenSize,
    2 * ffnSize + 2 * hiddenSize,
    (heads + 1) * contextTokens + 4 * hiddenSize,
  );
  return VALUE_BYTES * PHYSICAL_BATCH * values;
}

/**
 * c^cpu, c^gpu as prima.cpp's program of April 2025 reckons them (llama_model_compute_buf_size, commit 6d13836c): the
 * activations of a batch of prompt tokens at a full KV cache, 4H + (heads + 1) n_ctx + 2 values a token, on each device
 * alike; the head has inputs, hidden states and logits in addition to them, 2H + V + 1.
 * @param contextTokens n_ctx
 */
export function ringBufferBytes(shape: Shape, contextTokens: number): { readonly each: number; readonly head: number } {
  const { hiddenSize } = meanWidths(shape);
  const heads = Math.max(...shape.kinds.map((kind) => keptHeads(kind)?.heads ?? 0));
  const bytes = (values: number): number => VALUE_BYTES * PHYSICAL_BATCH * values;
  return {
    each: bytes(4 * hiddenSize + (heads + 1) * contextTokens + 2),
    head: bytes(2 * hiddenSize + shape.vocabularySize + 1),
  };
}

/**
 * The sizes that a planner reckons with: on a GPU the buffer that llama.cpp and prima.cpp reserve for the KV cache that
 * is asked for, elsewhere DEFAULT_RUNTIME.
 */
export function plannedRuntime(shape: Shape, { context, reservedContext = context }: Workload): Runtime {
  const known = plannedRuntimes.get(shape);
  if (known?.reservedContext === reservedContext) return known.runtime;
  const runtime = { ...DEFAULT_RUNTIME, gpuBufferBytes: computeBufferBytes(shape, reservedContext) };
  plannedRuntimes.set(shape, { reservedContext, runtime });
  return runtime;
}

/** The last sizes of each shape: planners ask for the same ones with every plan. */
const plannedRuntimes = new WeakMap<Shape, { readonly reservedContext: number; readonly runtime: Runtime }>();
