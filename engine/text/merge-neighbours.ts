/** Rank of merging two symbols: lower ranks are merged earlier; `undefined`: never. Must not change during a call. */
export type MergeRank = (left: string, right: string) => number | undefined;

/** Two neighbours that can be merged. */
interface Pair {
  readonly rank: number;
  /** Index of the left one. */
  readonly left: number;
  /**
   * Length of both when the pair was found: symbols only grow, so another length means that the pair no longer exists.
   */
  readonly length: number;
}

/**
 * Merges the two neighbours of lowest rank, the leftmost of equal ranks, until no merge is left: byte-pair encoding
 * (Sennrich et al. 2016) with the ranks of its merges, SentencePiece's (Kudo 2018) with negative scores. O(n log n) by
 * a heap of pairs.
 * @param symbols not empty strings
 */
export function mergeNeighbours(symbols: readonly string[], rankOf: MergeRank): string[] {
  const texts = [...symbols];
  const next = Int32Array.from(texts, (_, index) => index + 1);
  const previous = Int32Array.from(texts, (_, index) => index - 1);
  const heap: Pair[] = [];
  const offer = (left: number): void => {
    const [first, second] = [texts[left], texts[next[left] as number]];
    if (first === undefined || second === undefined) return;
    const rank = rankOf(first, second);
    if (rank !== undefined) push(heap, { rank, left, length: first.length + second.length });
  };
  for (let index = 0; index + 1 < texts.length; index++) offer(index);
  for (let best = pop(heap); best !== undefined; best = pop(heap)) {
    const { left, length } = best;
    const right = next[left] as number;
    const [first = '', second = ''] = [texts[left], texts[right]];
    if (first === '' || second === '' || first.length + second.length !== length) continue;
    texts[left] = first + second;
    texts[right] = '';
    const after = next[right] as number;
    next[left] = after;
    if (after < texts.length) previous[after] = left;
    offer(previous[left] as number);
    offer(left);
  }
  return texts.filter((text) => text !== '');
}

function isBefore(a: Pair, b: Pair): boolean {
  return a.rank < b.rank || (a.rank === b.rank && a.left < b.left);
}

/** Adds to a binary heap. */
function push(heap: Pair[], pair: Pair): void {
  let index = heap.length;
  heap.push(pair);
  while (index > 0) {
    const parent = (index - 1) >> 1;
    const above = heap[parent] as Pair;
    if (!isBefore(pair, above)) break;
    heap[index] = above;
    index = parent;
  }
  heap[index] = pair;
}

/** Takes the first from a binary heap. */
function pop(heap: Pair[]): Pair | undefined {
  const first = heap[0];
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return first;
  let index = 0;
  for (;;) {
    let child = 2 * index + 1;
    const [left, right] = [heap[child], heap[child + 1]];
    if (left === undefined) break;
    if (right !== undefined && isBefore(right, left)) child++;
    const below = heap[child] as Pair;
    if (!isBefore(below, last)) break;
    heap[index] = below;
    index = child;
  }
  heap[index] = last;
  return first;
}
