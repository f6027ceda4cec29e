import type { Gguf } from '../gguf/gguf.ts';
import { quoted } from '../gguf/gguf-error.ts';
import type { TransformerSettings } from '../gguf/transformer-settings.ts';
import type { RopeOperation } from '../kernels/operation.ts';
import type { RopeSettings } from '../kernels/rope-angles.ts';
import type { Architecture, Shape } from '../model/architecture.ts';

/** How queries and keys are turned by their position (RoPE, Su et al. 2021). */
export interface RotaryEmbedding extends RopeSettings {
  readonly pairs: RopeOperation['pairs'];
}

/** Which values turn together. Converters reorder the rows of llama and internlm2 so that neighbours do. */
const PAIRS: Readonly<Record<Architecture, RopeOperation['pairs']>> = {
  llama: 'adjacent',
  internlm2: 'adjacent',
  qwen2: 'halves',
  qwen3: 'halves',
};

/**
 * The rotary embedding of a file. Scaling `linear` divides positions by `rope.scaling.factor` (Chen et al. 2023,
 * Eq. 4). As in llama.cpp a factor counts if no type is given, and not if the type is `none`.
 * @param factors of `rope_freqs.weight`, where the file has it
 * @throws InputError for any other scaling: the model would compute something else than it was trained for
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
