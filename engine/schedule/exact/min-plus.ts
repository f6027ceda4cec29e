/** Relative slack of the convexity test: the rounding error of sums of a few dozen terms. */
const CONVEXITY_SLACK = 1e-12;
/** Pieces shorter than this are searched entry by entry: divide and conquer costs more than it saves. */
const SHORT_PIECE = 8;

/**
 * Min-plus product: `least[l]` = min over w ≥ 1 of `before[l − w] + step[w]`, and `argument[l]` the w that attains it.
 * `step` (index 0 is not used) is cut into convex pieces. For a convex piece the best index into `before` grows with l,
 * so divide and conquer finds all entries in O(L log L); `before` may have any values.
 * @param least,argument receive the result; as long as `before`
 */
export function minPlus(before: Float64Array, step: Float64Array, least: Float64Array, argument: Int32Array): void {
  least.fill(Number.POSITIVE_INFINITY);
  let low = 0;
  while (low < before.length && before[low] === Number.POSITIVE_INFINITY) low++;
  let first = 1;
  while (first < step.length) {
    if (step[first] === Number.POSITIVE_INFINITY) {
      first++;
      continue;
    }
    const last = endOfConvexPiece(step, first);
    const piece: Piece = { before, step, first, last, least, argument };
    if (last - first < SHORT_PIECE) tryAll(piece, low);
    else divide(piece, low + first, before.length - 1, low, before.length - 1);
    first = last + 1;
  }
}

interface Piece {
  readonly before: Float64Array;
  readonly step: Float64Array;
  /** Window sizes of the piece, both included. */
  readonly first: number;
  readonly last: number;
  readonly least: Float64Array;
  readonly argument: Int32Array;
}

function tryAll({ before, step, first, last, least, argument }: Piece, low: number): void {
  for (let window = first; window <= last; window++) {
    const cost = step[window] as number;
    for (let row = low + window; row < before.length; row++) {
      const found = (before[row - window] as number) + cost;
      if (found < (least[row] as number)) {
        least[row] = found;
        argument[row] = window;
      }
    }
  }
}

/** Fills rows `low` to `high`, whose best indices into `before` lie between `from` and `to`. */
function divide(piece: Piece, low: number, high: number, from: number, to: number): void {
  const { before, step, first, last, least, argument } = piece;
  const row = (low + high) >> 1;
  const start = Math.max(from, row - last);
  const end = Math.min(to, row - first);
  let best = Number.POSITIVE_INFINITY;
  let at = -1;
  for (let index = start; index <= end; index++) {
    const found = (before[index] as number) + (step[row - index] as number);
    if (found < best) {
      best = found;
      at = index;
    }
  }
  if (best < (least[row] as number)) {
    least[row] = best;
    argument[row] = row - at;
  }
  if (low < row) divide(piece, low, row - 1, from, at < 0 ? to : at);
  if (row < high) divide(piece, row + 1, high, at < 0 ? from : at, to);
}

/** The last window size up to which `step` is finite and convex, from `first`. */
function endOfConvexPiece(step: Float64Array, first: number): number {
  let last = first;
  while (last + 1 < step.length && step[last + 1] !== Number.POSITIVE_INFINITY) {
    const next = step[last + 1] as number;
    const bend = last === first ? 0 : next - 2 * (step[last] as number) + (step[last - 1] as number);
    if (bend < -CONVEXITY_SLACK * Math.abs(next)) break;
    last++;
  }
  return last;
}
