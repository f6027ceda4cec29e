import { randomStream } from '../../input/random-stream.ts';
import type { Shape } from '../../model/architecture.ts';
import type { NamedTensor } from '../tensor-names.ts';

/** Normal numbers that weights are drawn from: many beside the levels of any format, few beside a processor's cache. */
const DRAWN = 65_536;

/** A run of values of a tensor. */
export interface Piece {
  readonly tensor: NamedTensor;
  /** Its first value, and how many there are. */
  readonly from: number;
  readonly count: number;
}

/** Draws the values of any piece; the same piece has the same values, whichever was drawn before. */
export type RandomWeights = (piece: Piece) => Float32Array;

/**
 * Weights for which a forward pass keeps its size: matrices are normal with a standard deviation of 1 / √columns, so that
 * outputs vary as inputs do; those that write to the residual stream are smaller by √(2 layers), which together add about
 * what one would (GPT-2's initialisation). Embeddings have 1, or 1 / √hidden where they are the output matrix too; norms
 * are 1 ± 0.1 and biases 0 ± 0.1. Values are drawn with replacement from 65,536 normal numbers.
 */
export function randomWeights(shape: Shape, seed: number): RandomWeights {
  const { normal } = randomStream(seed, 'normal numbers');
  const numbers = Float32Array.from({ length: DRAWN }, normal);
  return ({ tensor, from, count }) => {
    const { next } = randomStream(seed, `${tensor.name}/${from}`);
    const { mean, deviation } = spread(tensor, shape);
    const values = new Float32Array(count);
    for (let index = 0; index < count; index++) {
      values[index] = mean + deviation * (numbers[Math.floor(DRAWN * next())] as number);
    }
    return values;
  };
}

function spread({ role, columns }: NamedTensor, shape: Shape): { mean: number; deviation: number } {
  const usual = 1 / Math.sqrt(columns);
  switch (role) {
    case 'attn_norm':
    case 'ffn_norm':
    case 'output_norm':
    case 'attn_head_norm':
      return { mean: 1, deviation: 0.1 };
    case 'attn_bias':
      return { mean: 0, deviation: 0.1 };
    case 'token_embd':
      return { mean: 0, deviation: shape.tiedEmbeddings ? usual : 1 };
    case 'attn_output':
    case 'ffn_down':
      return { mean: 0, deviation: usual / Math.sqrt(2 * shape.layers) };
    default:
      return { mean: 0, deviation: usual };
  }
}
