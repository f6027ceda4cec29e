import type { Attention, LayerKind } from '../../model/layer-kind.ts';
import { applied } from '../metadata-rule.ts';
import type { Family, FamilyFile, UsualLayer } from './family.ts';

const SOURCE = 'engine/gguf/architectures/gemma4.ts';
const MOST_WIDTH = 1_000_000;
const MOST_WINDOW = 2 ** 31;

/**
 * Gemma 4 (2026): Gemma 3's norms, with heads of unlike sizes in layers with a window and without; the last layers
 * attend to the keys and values of earlier ones; a mixture runs in parallel with a dense network; small models have an
 * embedding of every token for each layer.
 */
export const gemma4: Family = {
  pairs: 'halves',
  norms: 'heads',
  unlike: true,
  mixture: { size: 'expert_feed_forward_length', scores: 'softmax', normalised: true, activation: 'gelu' },
  rules: {
    'attention.sliding_window': applied(SOURCE),
    'rope.freq_base_swa': applied('engine/runtime/pass/rotations.ts'),
    final_logit_softcapping: applied(SOURCE),
  },
  kinds(usual, file) {
    const { layers } = file;
    const isLocal = file.fields.optionalFlags(file.key('attention.sliding_window_pattern'), layers) ?? [];
    if (isLocal.length === 0)
      file.fields.fail(file.key('attention.sliding_window_pattern'), 'is missing; a flag for each layer is needed');
    const mixers = mixersOf(usual, file, isLocal);
    const known = new Map<string, LayerKind>();
    return mixers.map((mixer, layer) => {
      const kind = kindOf(usual, file, mixer, file.denseSizes[layer] as number);
      const text = JSON.stringify(kind);
      const shared = known.get(text) ?? kind;
      known.set(text, shared);
      return shared;
    });
  },
  whole({ fields, key, hiddenSize }) {
    const logitCap = fields.optionalAmount(key('final_logit_softcapping'));
    const layerInputs = inputSize({ fields, key });
    return {
      embeddingScale: Math.sqrt(hiddenSize),
      ...(logitCap !== undefined && { logitCap }),
      ...(layerInputs > 0 && { layerInputs }),
    };
  },
};

function inputSize({ fields, key }: Pick<FamilyFile, 'fields' | 'key'>): number {
  return fields.optionalIndex(key('embedding_length_per_layer_input'), MOST_WIDTH) ?? 0;
}

/** The attention of each layer; the last `shared_kv_layers` attend to the last layer of their kind before them. */
function mixersOf({ mixer }: UsualLayer, file: FamilyFile, isLocal: readonly boolean[]): Attention[] {
  const { fields, key, layers, kvHeads, has } = file;
  const window = fields.count(key('attention.sliding_window'), MOST_WINDOW);
  const localSize = fields.count(key('attention.key_length_swa'), MOST_WIDTH, mixer.headSize);
  const localValues = fields.count(key('attention.value_length_swa'), MOST_WIDTH, localSize);
  if (localValues !== localSize)
    fields.fail(
      key('attention.value_length_swa'),
      `${localValues} differs from the keys’ ${localSize}; they must be equal`,
    );
  const own = layers - (fields.optionalIndex(key('attention.shared_kv_layers'), layers) ?? 0);
  return Array.from({ length: layers }, (_, layer) => {
    const local = isLocal[layer] === true;
    const keysOf = isLocal.slice(0, own).lastIndexOf(local);
    if (layer >= own && keysOf < 0)
      fields.fail(key('attention.shared_kv_layers'), `leaves layer ${layer} without a layer whose keys it could share`);
    return {
      ...{ ...mixer, kvHeads: kvHeads[layer] as number, scale: 1, valueNorm: true },
      ...(local && { window, rotation: 'local' as const, headSize: localSize }),
      ...(layer >= own && { keysOf }),
      ...(layer < own && !has(`blk.${layer}.attn_v.weight`) && { valuesAreKeys: true as const }),
    };
  });
}

function kindOf({ feedForward }: UsualLayer, file: FamilyFile, mixer: Attention, denseSize: number): LayerKind {
  const inputs = inputSize(file);
  return {
    mixer,
    feedForward:
      feedForward.kind === 'dense'
        ? { ...feedForward, size: denseSize, activation: 'gelu' }
        : { ...feedForward, beside: denseSize },
    resultNorms: true,
    ...(inputs > 0 && { inputSize: inputs }),
    ...(file.has('blk.0.layer_output_scale.weight') && { outputScale: true }),
  };
}
