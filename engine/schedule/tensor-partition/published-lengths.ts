/** Assumed: any threshold from 56 to 87 tokens gives both of the paper's examples. */
export const GPU_MARGIN = 64;

/**
 * Sequence-length cutting as HeteroLLM's examples have it (4.1.1): the longest graphs that fit go to the NPU and the
 * margin, which fits no graph, to the GPU; a margin so long that the GPU would be the bottleneck is shortened by the
 * shortest graph that brings it down to `margin`: multi-sequence-length cutting. 300 = 256 + 44, 600 = 512 + 32 + 56.
 * @returns lengths of the NPU's graphs; the rest is the GPU's. Empty where no graph fits: the GPU has all
 */
export function publishedLengths(tokens: number, lengths: readonly number[], margin = GPU_MARGIN): number[] {
  const longest = lengths.find((length) => length <= tokens);
  if (longest === undefined) return [];
  const list: number[] = [];
  let left = tokens;
  for (; left >= longest; left -= longest) list.push(longest);
  while (left > margin) {
    const enough = lengths.findLast((length) => length <= left && left - length <= margin);
    const next = enough ?? lengths.find((length) => length <= left);
    if (next === undefined) break;
    list.push(next);
    left -= next;
  }
  return list;
}
