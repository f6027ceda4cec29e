import type { Shape } from '../model/architecture.ts';
import type { LayerKind } from '../model/layer-kind.ts';
import type { Gguf } from './gguf.ts';
import { checkMetadata } from './metadata-rules.ts';

/** Settings that a forward pass needs in addition to the shape. */
export interface TransformerSettings {
  /** Tokens of context that the model was trained for. */
  readonly contextLength: number;
  /** ε of the RMS norm, x / √(mean x² + ε). */
  readonly normEpsilon: number;
  /** b of the rotary angles θᵢ = position · b^(−2i/n). */
  readonly ropeBase: number;
  /** n, the values of a head that are rotated. */
  readonly ropeDimensions: number;
  /** How angles are scaled for longer contexts: `none` unless the file says otherwise. */
  readonly ropeScaling: string;
}

const MOST_CONTEXT = 2 ** 31;

/**
 * Reads the settings from a file's metadata. As in llama.cpp, a missing rope.dimension_count means the whole head and a
 * missing rope.freq_base 10000.
 * @throws InputError for values that are missing or out of range, and for those that change results otherwise
 *   (metadata-rules.ts)
 */
export function transformerSettings(gguf: Gguf, { architecture, kinds }: Shape): TransformerSettings {
  const { fields } = gguf;
  const headSize = rotatedHeadSize(kinds);
  checkMetadata(gguf, architecture);
  const ropeKey = `${architecture}.rope.dimension_count`;
  const ropeDimensions = fields.count(ropeKey, headSize, headSize);
  if (ropeDimensions % 2 !== 0) fields.fail(ropeKey, `${ropeDimensions} is odd; values are rotated in pairs`);
  return {
    contextLength: fields.count(`${architecture}.context_length`, MOST_CONTEXT),
    normEpsilon: fields.amount(`${architecture}.attention.layer_norm_rms_epsilon`),
    ropeBase: fields.amount(`${architecture}.rope.freq_base`, 10_000),
    ropeDimensions,
    ropeScaling: fields.optionalText(`${architecture}.rope.scaling.type`) ?? 'none',
  };
}

/** Values of a head that the model's usual rotation may reach, in all layers that may have it; 2 where none has heads. */
function rotatedHeadSize(kinds: readonly LayerKind[]): number {
  const sizes = kinds.flatMap(({ mixer }) => {
    if (mixer?.kind === 'latent-attention') return [mixer.rotatedSize];
    return mixer?.kind === 'attention' && mixer.rotation !== 'local' ? [mixer.headSize] : [];
  });
  return sizes.length === 0 ? 2 : Math.min(...sizes);
}
