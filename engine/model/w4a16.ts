import type { Shape, TensorShape } from './architecture.ts';
import { tensorShapes } from './architecture.ts';
import { countModel, type Model, type Tensor } from './model.ts';

/** Values that share a scale. Assumed: AWQ's default, which HeteroLLM cites for its weights (5.1); it states none. */
const GROUP = 128;
/** Four bits a value and a 16-bit scale a group. */
const BYTES_PER_VALUE = 0.5 + 2 / GROUP;

/**
 * A model as HeteroLLM stores it: W4A16, matrices in 4 bits, all arithmetic in FP16; the embedding, of which a token
 * reads a row, and vectors in FP16 (HeteroLLM 5.1 says only what it does to weights that are multiplied). No GGUF file
 * has this layout; Q4_0 stands for it where rates go by format.
 */
export function createW4a16Model(shape: Shape): Model {
  const tensors = tensorShapes(shape).map((tensor): Tensor => {
    const elements = tensor.rows * tensor.columns;
    return isPacked(tensor, shape)
      ? { ...tensor, quantization: 'Q4_0', bytes: elements * BYTES_PER_VALUE }
      : { ...tensor, quantization: 'F16', bytes: elements * 2 };
  });
  return countModel(shape, 'W4A16', tensors);
}

function isPacked({ role, rows }: TensorShape, { tiedEmbeddings }: Shape): boolean {
  if (role === 'token_embd') return tiedEmbeddings;
  return rows > 1 && role !== 'attn_head_norm';
}
