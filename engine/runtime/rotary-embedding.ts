import type { Gguf } from '../gguf/gguf.ts';
import { quoted } from '../gguf/gguf-error.ts';
import type { TransformerSettings } from '../gguf/transformer-settings.ts';
import type { RopeOperation } from '../kernels/operation.ts';
import type { RopeSettings } from '../kernels/rope-angles.ts';
import type { Architecture, Shape } from '../model/architecture.ts';

/** Rotation of queries and keys by their position (RoPE, Su et al. 2021). */
export interface RotaryEmbedding extends RopeSettings {
  readonly pairs: RopeOperation['pairs'];
}

/**
 * Pairs of values that are rotated together. Converters reorder the rows of llama and internlm2 so that pairs are
 * adjacent.
 */
const PAIRS: Readonly<Record<Architecture, RopeOperation['pairs']>> = {
  llama: 'adjacent',
  internlm2: 'adjacent',
  qwen2: 'halves',
  qwen3: 'halves',
};

/**
 * Reads the rotary embedding of a file. Scaling `linear` divides positions by `rope.scaling.factor` (Chen et al. 2023,
 * Eq. 4). As in llama.cpp a factor applies without a type, but not with the type `none`.
 * @param factors values of `rope_freqs.weight`, if the file has it
 * @throws InputError for other kinds of scaling, which would change the results
 */
export function rotaryEmbedding(
  gguf: Gguf,
  { architecture }: Pick<Shape, 'architecture'>,
  { ropeBase, ropeDimensions, ropeScaling }: TransformerSettings,
  factors: Float32Array | undefined,
): RotaryEmbedding {
  const { fields } = gguf;
  const key = (name: string): string => `${architecture}.rope.${name}`;
  const scaling = gguf.metadata.has(key('scaling.type')) ? ropeScaling : 'linear';
  if (scaling !== 'none' && scaling !== 'linear')
    fields.fail(key('scaling.type'), `${quoted(scaling)} is not supported; supported: none, linear`);
  // Files from before rope.scaling.type call the factor scale_linear.
  const factor = fields.amount(key('scaling.factor'), fields.amount(key('scale_linear'), 1));
  const divisor = scaling === 'linear' ? factor : 1;
  const divisors = Array.from({ length: ropeDimensions / 2 }, (_, i) => divisor * (factors?.[i] ?? 1));
  return { dimensions: ropeDimensions, base: ropeBase, factors: divisors, pairs: PAIRS[architecture] };
}
