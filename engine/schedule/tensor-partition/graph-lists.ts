/**
 * The fewest graphs that add up to `tokens`, the longest first. Each graph is twice as long as the one before, so
 * taking the longest that fits is best: two equal graphs never take less time than one of twice the length, which reads
 * the weights once.
 * @param tokens a multiple of the shortest graph
 * @param lengths of the graphs that are prepared, the longest first
 * @throws RangeError if the tokens are no multiple of the shortest
 */
export function fewestGraphs(tokens: number, lengths: readonly number[]): number[] {
  const list: number[] = [];
  let left = tokens;
  for (const length of lengths) {
    for (; left >= length; left -= length) list.push(length);
  }
  if (left > 0) throw new RangeError(`${tokens} tokens are no sum of graphs of ${lengths.join(', ')}`);
  return list;
}

/** Tokens rounded up to a multiple of the shortest graph: what Pipe runs (HeteroLLM 5.2.2). */
export function pipedGraphs(tokens: number, lengths: readonly number[]): number[] {
  const shortest = lengths.at(-1) as number;
  return fewestGraphs(Math.ceil(tokens / shortest) * shortest, lengths);
}

/** Graphs of one length only, the shortest that holds the tokens, or as many of the longest as it takes: Padding. */
export function paddedGraphs(tokens: number, lengths: readonly number[]): number[] {
  const length = lengths.findLast((candidate) => candidate >= tokens) ?? (lengths[0] as number);
  return new Array<number>(Math.ceil(tokens / length)).fill(length);
}

/**
 * Every list of graphs worth trying for `tokens` tokens: one for each multiple of the shortest that leaves the GPU some
 * tokens, and those that cover all. Of these, padding further is worth trying only with fewer graphs. A list with more
 * graphs than it needs is never faster by itself; where memory is contended it may leave the GPU more bandwidth, and
 * that (a few per cent at most) is what leaving it out can lose.
 */
export function graphLists(tokens: number, lengths: readonly number[]): number[][] {
  const shortest = lengths.at(-1) as number;
  const lists: number[][] = [];
  for (let covered = shortest; covered < tokens; covered += shortest) lists.push(fewestGraphs(covered, lengths));
  const most = (lengths[0] as number) * Math.ceil(tokens / (lengths[0] as number));
  let fewest = Number.POSITIVE_INFINITY;
  for (let covered = Math.ceil(tokens / shortest) * shortest; covered <= most; covered += shortest) {
    const list = fewestGraphs(covered, lengths);
    if (list.length >= fewest) continue;
    fewest = list.length;
    lists.push(list);
  }
  return lists;
}
