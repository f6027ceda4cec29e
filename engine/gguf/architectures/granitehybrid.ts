import type { Family } from './family.ts';
import { granite } from './granite.ts';
import { readMamba } from './state-space.ts';

/** Granite 4 (IBM 2025): Granite's factors; layers without key and value heads are Mamba-2. */
export const granitehybrid: Family = {
  ...granite,
  unlike: true,
  mixture: { size: 'feed_forward_length', scores: 'softmax', normalised: true, shared: 'plain' },
  kinds(usual, file) {
    const attending = granite.kinds?.(usual, file) ?? [];
    const mixer = readMamba(file);
    return attending.map((kind, layer) => (file.kvHeads[layer] === 0 ? { ...kind, mixer } : kind));
  },
};
