import type { LayerKind } from '../../model/layer-kind.ts';
import type { Family } from './family.ts';
import { readMamba } from './state-space.ts';

/**
 * Nemotron-H and Nemotron 3 (NVIDIA 2025): every block is one of three, a Mamba-2 layer, attention without rotation, or a
 * feed-forward part without gates.
 */
export const nemotronH: Family = {
  pairs: 'halves',
  unlike: true,
  mixture: {
    size: 'expert_feed_forward_length',
    scores: 'sigmoid',
    normalised: false,
    fromFile: true,
    activation: 'relu',
    ungated: true,
    shared: 'plain',
  },
  kinds(usual, file) {
    const { feedForward: given } = usual;
    const feedForward: LayerKind['feedForward'] =
      given.kind === 'dense' ? { ...given, activation: 'relu', ungated: true } : given;
    const resultNorms = false;
    const attention: LayerKind = { mixer: { ...usual.mixer, rotation: 'none' }, resultNorms };
    const recurrent: LayerKind = { mixer: readMamba(file), resultNorms };
    const network: LayerKind = { feedForward, feedForwardNorm: 'attn_norm', resultNorms };
    return file.kvHeads.map((kvHeads, layer) => {
      if (file.denseSizes[layer] !== 0) return network;
      return kvHeads === 0 ? recurrent : attention;
    });
  },
};
