import type { Plan } from './plan.ts';

/**
 * One chip has everything, from the embedding to the output layer, as in HeteroLLM; its weights never leave the memory.
 * Any other plan whose operators are cut is a ring's, in which chips are devices among others.
 */
export function isWholeChip({ stages, embedding }: Plan): boolean {
  return stages.length === 1 && stages[0]?.partition !== undefined && embedding.processor === 'gpu';
}
