/**
 * An error in a user's file, option or value. The message is one line that says where the error is, what was found,
 * what is allowed and what to do. Commands print it and exit with code 2.
 */
export class InputError extends Error {
  override readonly name = 'InputError';

  /** @param where the file, option or place in a file, e.g. `my-home.json: devices[1].disk.sequential` */
  constructor(
    readonly where: string,
    readonly problem: string,
  ) {
    super(`${where}: ${problem}`);
  }
}

/** Letters from which on a name may be the beginning of a longer one. */
const BEGINNING = 6;

/**
 * The known name closest to `name` by edit distance, or else the one that begins most like it; `undefined` if none is
 * close enough for a misspelling.
 */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const closest = (candidates: readonly string[], most: number): string | undefined => {
    const distances = candidates.map((candidate) => editDistance(name.toLowerCase(), candidate.toLowerCase()));
    const best = Math.min(...distances, Number.POSITIVE_INFINITY);
    return best <= most ? known[distances.indexOf(best)] : undefined;
  };
  const found = closest(known, Math.min(name.length - 1, Math.max(2, Math.floor(name.length / 3))));
  if (found !== undefined || name.length < BEGINNING) return found;
  const beginnings = known.map((candidate) => candidate.slice(0, name.length));
  return closest(beginnings, Math.floor(name.length / 4));
}

/** The end of an "unknown name" message: `; did you mean "x"?`, or the list of allowed names. */
export function suggestion(name: string, known: readonly string[]): string {
  const guess = nearest(name, known);
  return guess === undefined ? `; allowed: ${known.join(', ')}` : `; did you mean "${guess}"?`;
}

/** The known names that differ least from a name, the nearest first. */
export function nearestNames(name: string, known: readonly string[], count: number): string[] {
  const distance = (one: string): number => editDistance(name.toLowerCase(), one.toLowerCase());
  return known.toSorted((one, other) => distance(one) - distance(other)).slice(0, count);
}

/** Levenshtein distance. */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(substitution, (previous[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
    previous = row;
  }
  return previous[b.length] ?? 0;
}
