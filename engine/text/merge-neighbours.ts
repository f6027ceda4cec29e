import { SLICE, type Slices } from './slices.ts';

/** Rank of merging two symbols: lower ranks are merged earlier; `undefined`: never. Must not change during a call. */
export type MergeRank = (left: string, right: string) => number | undefined;

/** A text in symbols. */
export interface Symbols {
  readonly text: string;
  /** End of each of them in the text, the last at the text's end. None is empty. */
  readonly ends: Int32Array;
}

/**
 * Merges the two neighbours of lowest rank, the leftmost of equal ranks, until no merge is left: byte-pair encoding
 * (Sennrich et al. 2016) with the ranks of its merges, SentencePiece's (Kudo 2018) with negative scores. O(n log n) by
 * a heap of pairs. All is in typed arrays: collecting a million objects would stop the process for longer than a slice.
 */
export function* mergeNeighbours({ text, ends: begin }: Symbols, rankOf: MergeRank): Slices<Symbols> {
  const { length } = begin;
  /** For each symbol: its end, 0 once it belongs to the symbol on its left, and its neighbours. */
  const ends = begin.slice();
  const next = new Int32Array(length);
  const previous = new Int32Array(length);
  const pairs = createPairs(length);
  const startOf = (symbol: number): number => (symbol === 0 ? 0 : (ends[previous[symbol] as number] as number));
  const offer = (left: number): void => {
    const right = next[left] as number;
    if (left < 0 || right >= length) return;
    const [start, middle, end] = [startOf(left), ends[left] as number, ends[right] as number];
    const rank = rankOf(text.slice(start, middle), text.slice(middle, end));
    if (rank !== undefined) pairs.push(rank, left, end - start);
  };
  for (let symbol = 0; symbol < length; symbol++) {
    next[symbol] = symbol + 1;
    previous[symbol] = symbol - 1;
    offer(symbol);
    if (symbol % SLICE === SLICE - 1) yield;
  }
  for (let popped = 1; pairs.count > 0; popped++) {
    if (popped % SLICE === 0) yield;
    const { left, pairLength } = pairs.pop();
    const right = next[left] as number;
    if (ends[left] === 0 || right >= length || (ends[right] as number) - startOf(left) !== pairLength) continue;
    ends[left] = ends[right] as number;
    ends[right] = 0;
    const after = next[right] as number;
    next[left] = after;
    if (after < length) previous[after] = left;
    offer(previous[left] as number);
    offer(left);
  }
  let count = 0;
  for (let symbol = 0; symbol < length; symbol++) {
    const end = ends[symbol] as number;
    if (end > 0) ends[count++] = end;
    if (symbol % SLICE === SLICE - 1) yield;
  }
  return { text, ends: ends.subarray(0, count) };
}

/** Adds each symbol of a text. */
export function* addSymbols({ text, ends }: Symbols, add: (symbol: string) => void): Slices<void> {
  let start = 0;
  for (let index = 0; index < ends.length; index++) {
    const end = ends[index] as number;
    add(text.slice(start, end));
    start = end;
    if (index % SLICE === SLICE - 1) yield;
  }
}

/** Pairs of neighbours that can be merged: a binary heap. */
interface Pairs {
  readonly count: number;
  /**
   * @param left the left symbol
   * @param pairLength length of both now: symbols only grow, so another length means that the pair no longer exists
   */
  push(rank: number, left: number, pairLength: number): void;
  /** Takes the pair of lowest rank, of equal ranks the leftmost. */
  pop(): { readonly left: number; readonly pairLength: number };
}

/** @param symbols each merge takes a pair and offers two, so that there are never more than twice as many pairs */
function createPairs(symbols: number): Pairs {
  const ranks = new Float64Array(2 * symbols);
  const lefts = new Int32Array(2 * symbols);
  const lengths = new Int32Array(2 * symbols);
  let count = 0;
  const isBefore = (a: number, b: number): boolean => {
    const [rank, other] = [ranks[a] as number, ranks[b] as number];
    return rank < other || (rank === other && (lefts[a] as number) < (lefts[b] as number));
  };
  const move = (from: number, to: number): void => {
    ranks[to] = ranks[from] as number;
    lefts[to] = lefts[from] as number;
    lengths[to] = lengths[from] as number;
  };
  return {
    get count() {
      return count;
    },
    push(rank, left, pairLength) {
      let index = count++;
      while (index > 0) {
        const parent = (index - 1) >> 1;
        const above = ranks[parent] as number;
        if (!(rank < above || (rank === above && left < (lefts[parent] as number)))) break;
        move(parent, index);
        index = parent;
      }
      [ranks[index], lefts[index], lengths[index]] = [rank, left, pairLength];
    },
    pop() {
      const first = { left: lefts[0] as number, pairLength: lengths[0] as number };
      const last = --count;
      let index = 0;
      for (;;) {
        let child = 2 * index + 1;
        if (child >= last) break;
        if (child + 1 < last && isBefore(child + 1, child)) child++;
        if (!isBefore(child, last)) break;
        move(child, index);
        index = child;
      }
      move(last, index);
      return first;
    },
  };
}
