import type { LayerKind } from '../../model/layer-kind.ts';
import { applied } from '../metadata-rule.ts';
import type { Family, FamilyFile } from './family.ts';

const SOURCE = 'engine/gguf/architectures/gemma3.ts';
const MOST_WINDOW = 2 ** 31;
/** Every sixth layer sees the whole context, unless the file says otherwise. */
const PATTERN = 6;
/** The model of 27 billion weights scales scores by the width of the residual stream (Gemma 3 report, 2025, Table 1). */
const LAYERS_OF_27B = 62;

/**
 * Gemma 3 (2025): five layers with a window and a rotation of their own for every layer that sees the whole context; what
 * attention and feed-forward add is normalised; embeddings are scaled by √hidden.
 */
export const gemma3: Family = {
  pairs: 'halves',
  norms: 'heads',
  rules: {
    'attention.sliding_window': applied(SOURCE),
    'attention.sliding_window_pattern': applied(SOURCE),
    'rope.freq_base_swa': applied('engine/runtime/pass/rotations.ts'),
    final_logit_softcapping: applied(SOURCE),
  },
  kinds(usual, file) {
    const { fields, key, layers, hiddenSize } = file;
    const scale = layers === LAYERS_OF_27B ? { scale: 1 / Math.sqrt(hiddenSize / usual.mixer.heads) } : {};
    const global: LayerKind = {
      mixer: { ...usual.mixer, ...scale },
      feedForward: { ...usual.feedForward, activation: 'gelu' },
      resultNorms: true,
    };
    const window = fields.count(key('attention.sliding_window'), MOST_WINDOW);
    const local: LayerKind = { ...global, mixer: { ...usual.mixer, ...scale, window, rotation: 'local' } };
    const isLocal = localLayers(file);
    return Array.from({ length: layers }, (_, layer) => (isLocal(layer) ? local : global));
  },
  whole: ({ fields, key, hiddenSize }) => {
    const logitCap = fields.optionalAmount(key('final_logit_softcapping'));
    return { embeddingScale: Math.sqrt(hiddenSize), ...(logitCap !== undefined && { logitCap }) };
  },
};

function localLayers({ fields, key, layers }: FamilyFile): (layer: number) => boolean {
  const name = key('attention.sliding_window_pattern');
  const flags = fields.optionalFlags(name, layers);
  if (flags !== undefined) return (layer) => flags[layer] === true;
  const pattern = fields.count(name, layers, Math.min(PATTERN, layers));
  return (layer) => layer % pattern < pattern - 1;
}
