import type { NpuArray } from '../hardware/device.ts';
import type { Operator } from '../model/operators.ts';

/**
 * Seconds to generate the graph of an operator for so many tokens: the larger the tensor, the larger the space that the
 * compiler searches (HeteroLLM 4.1.1, Fig. 9). Linear in the FLOPs of the padded graph, from a base.
 */
export function graphSeconds(
  { rows, columns }: Pick<Operator, 'rows' | 'columns'>,
  tokens: number,
  { tile, graphBase, graphRate }: NpuArray,
): number {
  const pad = (size: number): number => Math.ceil(size / tile) * tile;
  return graphBase + (2 * pad(rows) * pad(columns) * pad(tokens)) / graphRate;
}
