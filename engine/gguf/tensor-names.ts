import { type Shape, type TensorRole, type TensorShape, tensorShapes } from '../model/architecture.ts';

/** A tensor of a model, as GGUF files name and divide it. */
export interface NamedTensor extends TensorShape {
  readonly name: string;
  /** In ggml's order: [columns, rows], or [columns] for a vector. */
  readonly shape: readonly number[];
}

/**
 * The tensors of a GGUF file of `shape`: those of tensorShapes, except that the biases of Q, K and V and the head norms
 * of Q and K are tensors of their own.
 */
export function namedTensors(shape: Shape): NamedTensor[] {
  return tensorShapes(shape).flatMap((tensor) => {
    const prefix = tensor.layer === undefined ? '' : `blk.${tensor.layer}.`;
    const vector = (name: string, columns: number): NamedTensor => named(tensor, prefix + name, 1, columns);
    if (tensor.role === 'attn_bias') {
      const kvWidth = shape.kvHeads * shape.headSize;
      return [
        vector('attn_q.bias', shape.heads * shape.headSize),
        vector('attn_k.bias', kvWidth),
        vector('attn_v.bias', kvWidth),
      ];
    }
    if (tensor.role === 'attn_head_norm')
      return [vector('attn_q_norm.weight', shape.headSize), vector('attn_k_norm.weight', shape.headSize)];
    return [named(tensor, `${prefix}${tensor.role}.weight`, tensor.rows, tensor.columns)];
  });
}

/** Q, K and V of a layer fused into one matrix, as some converters write them: the rows of Q, then K, then V. */
export function fusedAttention(shape: Shape, layer: number): NamedTensor {
  const rows = (shape.heads + 2 * shape.kvHeads) * shape.headSize;
  return named({ role: 'attn_qkv', layer }, `blk.${layer}.attn_qkv.weight`, rows, shape.hiddenSize);
}

/**
 * The divisors of the rotary angles, shared by all layers (Llama 3.1).
 * @param rotated values of a head that are rotated
 */
export function ropeFactors(rotated: number): NamedTensor {
  return named({ role: 'rope_freqs', layer: undefined }, 'rope_freqs.weight', 1, rotated / 2);
}

function named(
  { role, layer }: { readonly role: TensorRole; readonly layer: number | undefined },
  name: string,
  rows: number,
  columns: number,
): NamedTensor {
  return { role, layer, rows, columns, name, shape: rows === 1 ? [columns] : [columns, rows] };
}
