/** Row minima of a min-plus product: `least[l] = min over w of before[l − w] + step[w]`, with the w that attains it. */
export interface MinPlus {
  readonly least: Float64Array;
  readonly argument: Int32Array;
}

/** Slack for the test of convexity: rounding of sums of a few dozen terms, relative to the values. */
const CONVEXITY_SLACK = 1e-12;
/** Below this many entries, trying all pairs beats divide and conquer. */
const SMALL = 12;

/**
 * Min-plus product of any `before` (indices 0 to L) with `step` (indices 1 to L; index 0 is not used). `step` is cut
 * into its convex pieces, each done by divide and conquer over the rows in O(L log L): for a convex step the best
 * argument grows with the row.
 */
export function minPlus(before: Float64Array, step: Float64Array): MinPlus {
  const least = new Float64Array(before.length).fill(Number.POSITIVE_INFINITY);
  const argument = new Int32Array(before.length);
  for (const [first, last] of convexPieces(step)) {
    if (last - first < SMALL) tryAll({ before, step, first, last, least, argument });
    else divide({ before, step, first, last, least, argument });
  }
  return { least, argument };
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

function tryAll({ before, step, first, last, least, argument }: Piece): void {
  for (let window = first; window <= last; window++) {
    const cost = step[window] as number;
    for (let row = window; row < before.length; row++) {
      const found = (before[row - window] as number) + cost;
      if (found < (least[row] as number)) {
        least[row] = found;
        argument[row] = window;
      }
    }
  }
}

function divide({ before, step, first, last, least, argument }: Piece): void {
  // `from` and `to` bound the index into `before` that is best for the rows in question.
  const solve = (low: number, high: number, from: number, to: number): void => {
    if (low > high) return;
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
    solve(low, row - 1, from, at < 0 ? to : at);
    solve(row + 1, high, at < 0 ? from : at, to);
  };
  solve(first, before.length - 1, 0, before.length - 1);
}

/** Ranges of window sizes over which `step` is finite and convex, in order. */
function convexPieces(step: Float64Array): [number, number][] {
  const pieces: [number, number][] = [];
  let first = 1;
  while (first < step.length) {
    if (!Number.isFinite(step[first])) {
      first += 1;
      continue;
    }
    let last = first;
    while (last + 1 < step.length && Number.isFinite(step[last + 1]) && staysConvex(step, first, last)) last += 1;
    pieces.push([first, last]);
    first = last + 1;
  }
  return pieces;
}

/** The piece that starts at `first` stays convex when it is lengthened from `last` by one. */
function staysConvex(step: Float64Array, first: number, last: number): boolean {
  if (last === first) return true;
  const [a, b, c] = [step[last - 1] as number, step[last] as number, step[last + 1] as number];
  return c - 2 * b + a >= -CONVEXITY_SLACK * Math.abs(c);
}
