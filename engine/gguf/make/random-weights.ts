import { randomStream } from '../../input/random-stream.ts';
import type { Shape } from '../../model/architecture.ts';
import type { NamedTensor } from '../tensor-names.ts';

/**
 * Normal numbers that weights are drawn from: many more than a format has levels, few enough for a processor's cache.
 */
const DRAWN = 65_536;

/** A run of values of a tensor. */
export interface Piece {
  readonly tensor: NamedTensor;
  /** Index of its first value in the tensor, and the number of its values. */
  readonly from: number;
  readonly count: number;
}

/** Draws the values of a piece, which don't depend on the pieces drawn before. */
export type RandomWeights = (piece: Piece) => Float32Array;

/**
 * Weights with which activations keep their magnitude through a forward pass. Matrices are normal with a standard
 * deviation of 1 / √columns, so that outputs vary as much as inputs; those that write to the residual stream are
 * smaller by √(2 layers), so that all of them together add about as much as one (GPT-2's initialisation). Embeddings
 * have a deviation of 1, or 1 / √hidden if they are the output matrix too; norms and factors are 1 ± 0.1, biases 0 ± 0.1,
 * and the logarithms of decays −1 ± 0.1, with which states forget. Values are drawn with replacement from 65,536 normal
 * numbers.
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
  if (/_norm(_\d)?$|_scale$|^ssm_d$/.test(role)) return { mean: 1, deviation: 0.1 };
  if (role.endsWith('_bias')) return { mean: 0, deviation: 0.1 };
  switch (role) {
    case 'token_embd':
      return { mean: 0, deviation: shape.tiedEmbeddings ? usual : 1 };
    case 'ssm_a':
      return { mean: -1, deviation: 0.1 };
    case 'attn_output':
    case 'ssm_out':
    case 'shortconv_out_proj':
    case 'ffn_down':
      return { mean: 0, deviation: usual / Math.sqrt(2 * shape.layers) };
    default:
      return { mean: 0, deviation: usual };
  }
}
