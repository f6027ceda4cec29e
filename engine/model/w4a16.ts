import type { Shape, TensorShape } from './architecture.ts';
import { tensorShapes } from './architecture.ts';
import { isVector } from './mix.ts';
import { countModel, type Model, type Tensor } from './model.ts';

/** A 16-bit scale for every row. Assumed: the layout of 4-bit weights in QNN, which HeteroLLM's NPU uses (5.1). */
const SCALE_BYTES = 2;

/**
 * A model as HeteroLLM stores it (W4A16): matrices in 4 bits, all arithmetic in FP16. The embedding, of which a token
 * reads one row, and vectors are FP16, since HeteroLLM 5.1 describes only the weights of products. No GGUF file has
 * this layout; rates that depend on the format are those of Q4_0.
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

function isPacked(tensor: TensorShape, { tiedEmbeddings }: Shape): boolean {
  return tensor.role === 'token_embd' ? tiedEmbeddings : !isVector(tensor);
}
