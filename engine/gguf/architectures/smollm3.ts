import type { LayerKind } from '../../model/layer-kind.ts';
import type { Family } from './family.ts';

/** Every fourth layer doesn't rotate; files don't say so. */
const PATTERN = 4;

/** SmolLM3 (2025): llama with layers without rotation (NoPE, Yang et al. 2025, "RoPE to NoPE and back again"). */
export const smollm3: Family = {
  pairs: 'adjacent',
  kinds(usual, { layers }) {
    const unrotated: LayerKind = { ...usual, mixer: { ...usual.mixer, rotation: 'none' } };
    return Array.from({ length: layers }, (_, layer) => ((layer + 1) % PATTERN === 0 ? unrotated : usual));
  },
};
