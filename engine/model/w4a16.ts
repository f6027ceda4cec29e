import type { Shape, TensorShape } from './architecture.ts';
import { tensorShapes } from './architecture.ts';
import { countModel, type Model, type Tensor } from './model.ts';

/** A scale of 16 bits for every row. Assumed: as QNN, which HeteroLLM's NPU runs on (5.1), has its 4-bit weights. */
const SCALE_BYTES = 2;

/**
 * A model as HeteroLLM stores it: W4A16, matrices in 4 bits, all arithmetic in FP16; the embedding, of which a token
 * reads a row, and vectors in FP16 (HeteroLLM 5.1 says only what it does to weights that are multiplied). No GGUF file
 * has this layout; Q4_0 stands for it where rates go by format.
 */
export function createW4a16Model(shape: Shape): Model {
  const tensors = tensorShapes(shape).map((tensor): Tensor => {
    const elements = tensor.rows * tensor.columns;
    return isPacked(tensor, shape)
      ? { ...tensor, quantization: 'Q4_0', bytes: elements / 2 + tensor.rows * SCALE_BYTES }
      : { ...tensor, quantization: 'F16', bytes: elements * 2 };
  });
  return countModel(shape, 'W4A16', tensors);
}

function isPacked({ role, rows }: TensorShape, { tiedEmbeddings }: Shape): boolean {
  if (role === 'token_embd') return tiedEmbeddings;
  return rows > 1 && role !== 'attn_head_norm';
}
