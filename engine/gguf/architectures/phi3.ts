import type { Family } from './family.ts';

/**
 * Phi-3 and Phi-4-mini (Microsoft): llama whose files have queries, keys and values in one matrix, gate and up in one, and
 * divisors of the angles for short and for long contexts. As in llama.cpp, its window is not applied.
 */
export const phi3: Family = { pairs: 'halves' };
