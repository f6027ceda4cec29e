import { addSymbols, type MergeRank, mergeNeighbours } from '../../engine/text/merge-neighbours.ts';
import { atOnce } from '../../engine/text/slices.ts';

/** Symbols that are left when no merge is. */
export function mergedSymbols(symbols: readonly string[], rankOf: MergeRank): string[] {
  let length = 0;
  const begin = Int32Array.from(symbols, (symbol) => {
    length += symbol.length;
    return length;
  });
  const merged = atOnce(mergeNeighbours({ text: symbols.join(''), ends: begin }, rankOf));
  const found: string[] = [];
  atOnce(addSymbols(merged, (symbol) => void found.push(symbol)));
  return found;
}
