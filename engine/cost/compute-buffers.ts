import type { Shape } from '../model/architecture.ts';

/** Tokens of a prompt that llama.cpp computes at once unless told otherwise (n_ubatch); its buffers are sized for them. */
const PHYSICAL_BATCH = 512;
/** Activations are F32. */
const VALUE_BYTES = 4;

/**
 * c^cpu, c^gpu of llama.cpp and prima.cpp: bytes of the buffer that holds a graph's activations, sized for a batch of
 * prompt tokens at a full KV cache. Whichever is largest: logits beside a hidden state (V + H values a token); gate and
 * up beside two hidden states (2F + 2H); attention scores and mask beside four hidden states ((heads + 1)·n_ctx + 4H).
 *
 * The terms are those that prima.cpp reckons with itself (llama_model_compute_buf_size of April 2025, without gate and
 * up). They come to what llama.cpp logs: 258.5 MiB for Llama 3 8B at 2048 tokens, 164.0 and 2144.0 MiB for Mistral 7B
 * at 2048 and 32768.
 * @param contextTokens n_ctx: tokens that the KV cache has room for
 */
export function computeBufferBytes(shape: Shape, contextTokens: number): number {
  const { vocabularySize, hiddenSize, ffnSize, heads } = shape;
  const values = Math.max(
    vocabularySize + hiddenSize,
    2 * ffnSize + 2 * hiddenSize,
    (heads + 1) * contextTokens + 4 * hiddenSize,
  );
  return VALUE_BYTES * PHYSICAL_BATCH * values;
}
