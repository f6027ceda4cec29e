import type { Matrix } from '../kernels/matrix.ts';
import type { Vector } from '../kernels/vector.ts';

/** y = W·x + b; most have no b. */
export interface Linear {
  readonly matrix: Matrix;
  readonly bias?: Vector;
}

/** The weights of one layer; shapes are rows first. */
export interface LayerWeights {
  readonly attentionNorm: Vector; // [hidden]
  readonly query: Linear; // [heads · headSize][hidden]
  readonly key: Linear; // [kvHeads · headSize][hidden]
  readonly value: Linear; // [kvHeads · headSize][hidden]
  /** Norms of each head of queries and of keys (qwen3). */
  readonly headNorms: { readonly query: Vector; readonly key: Vector } | undefined; // [headSize] each
  readonly attentionOutput: Linear; // [hidden][heads · headSize]
  readonly feedForwardNorm: Vector; // [hidden]
  readonly gate: Linear; // [ffn][hidden]
  readonly up: Linear; // [ffn][hidden]
  readonly down: Linear; // [hidden][ffn]
}

/** The weights of a model, as its kernels know them. */
export interface Weights {
  readonly embedding: Matrix; // [vocabulary][hidden]
  readonly layers: readonly LayerWeights[];
  readonly outputNorm: Vector; // [hidden]
  /** The embedding again where it is tied. */
  readonly output: Linear; // [vocabulary][hidden]
}
