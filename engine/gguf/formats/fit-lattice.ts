import type { Lattice } from './lattices.ts';

/** How values of a group become points of a lattice. */
export interface LatticeOptions {
  readonly lattice: Lattice;
  /** Whether points are of magnitudes, and signs free, or an even number of eight negative. */
  readonly signs: 'none' | 'any' | 'even';
  /** Values that are moved together by one, up or down; 0 if none are. */
  readonly shiftWidth: 0 | 8 | 32;
}

/** The points that a group of up to 32 values was given. */
export interface ChosenPoints {
  /** Numbers of points. */
  readonly points: Uint16Array;
  /** One bit for each of eight values. */
  readonly signs: Uint8Array;
  /** 1 where `shiftWidth` values are moved down, a number for each such group. */
  readonly down: Uint8Array;
}

export function createChosenPoints(): ChosenPoints {
  return { points: new Uint16Array(8), signs: new Uint8Array(4), down: new Uint8Array(4) };
}

/** Places tried for the value furthest from zero when scales are fitted, in units of the largest level. */
const REACHES = [0.8, 1.1, 1.5, 2] as const;

const TRIED = createChosenPoints();

/**
 * The scale, not negative, of the `count` values from `from` on: the best of a few, each refitted by least squares to
 * the points it chose. Plain loops: this runs for every group of a model.
 */
export function fitLattice(values: Float32Array, from: number, count: number, options: LatticeOptions): number {
  let largest = 0;
  for (let index = from; index < from + count; index++) largest = Math.max(largest, Math.abs(values[index] as number));
  if (largest === 0) return 0;
  const top = options.lattice.levels.at(-1) as number;
  let [best, least] = [0, Number.POSITIVE_INFINITY];
  for (const reach of REACHES) {
    const { refitted, squaredError } = choosePoints(values, from, count, largest / top / reach, options, TRIED);
    if (!(refitted > 0) || squaredError >= least) continue;
    [best, least] = [refitted, squaredError];
  }
  return best;
}

const MAGNITUDES = new Float64Array(32);
const LEVELS = new Int8Array(32);

/**
 * The points for values that are divided by `scale`, into `out`.
 * @returns the scale that fits these points best, and the squared error with it
 */
export function choosePoints(
  values: Float32Array,
  from: number,
  count: number,
  scale: number,
  { lattice, signs, shiftWidth }: LatticeOptions,
  out: ChosenPoints,
): { readonly refitted: number; readonly squaredError: number } {
  const inverse = scale === 0 ? 0 : 1 / scale;
  for (let index = 0; index < count; index++) MAGNITUDES[index] = inverse * (values[from + index] as number);
  out.signs.fill(0);
  for (let eight = 0; eight < count / 8 && signs !== 'none'; eight++) {
    out.signs[eight] = takeSigns(8 * eight, signs === 'even');
  }
  const width = shiftWidth === 0 ? count : Math.min(shiftWidth, count);
  for (let begin = 0; begin < count; begin += width) {
    if (shiftWidth === 0) takePoints(begin, width, 0, lattice, out.points);
    else {
      const up = takePoints(begin, width, 1, lattice, out.points);
      const isDown = takePoints(begin, width, -1, lattice, out.points) < up;
      if (!isDown) takePoints(begin, width, 1, lattice, out.points);
      out.down[begin / width] = isDown ? 1 : 0;
    }
  }
  let [products, squares, total] = [0, 0, 0];
  for (let index = 0; index < count; index++) {
    const [magnitude, level] = [MAGNITUDES[index] as number, LEVELS[index] as number];
    products += magnitude * level;
    squares += level * level;
    total += magnitude * magnitude;
  }
  const factor = products / squares;
  return { refitted: scale * factor, squaredError: scale * scale * (total - factor * products) };
}

/**
 * Takes the signs from eight magnitudes and returns them as bits; if their number must be even, that of the value
 * nearest to zero may stay.
 */
function takeSigns(begin: number, even: boolean): number {
  let [bits, negatives, nearest] = [0, 0, 0];
  for (let j = 0; j < 8; j++) {
    const value = MAGNITUDES[begin + j] as number;
    if (value < 0) {
      bits |= 1 << j;
      negatives++;
      MAGNITUDES[begin + j] = -value;
    }
    if (Math.abs(value) < Math.abs(MAGNITUDES[begin + nearest] as number)) nearest = j;
  }
  if (!even || negatives % 2 === 0) return bits;
  MAGNITUDES[begin + nearest] = -(MAGNITUDES[begin + nearest] as number);
  return bits ^ (1 << nearest);
}

/** Numbers of points for a part of the magnitudes; their levels, moved, go to LEVELS. @returns the squared distance */
function takePoints(begin: number, count: number, shift: number, lattice: Lattice, out: Uint16Array): number {
  const { levels, width } = lattice;
  const nearest = nearestTable(lattice);
  let distance = 0;
  for (let first = begin; first < begin + count; first += width) {
    let digits = 0;
    for (let j = width - 1; j >= 0; j--) {
      digits = digits * levels.length + nearestLevel(levels, (MAGNITUDES[first + j] as number) - shift);
    }
    const point = nearest[digits] as number;
    out[first / width] = point;
    for (let j = 0; j < width; j++) {
      const level = (lattice.points[width * point + j] as number) + shift;
      LEVELS[first + j] = level;
      distance += ((MAGNITUDES[first + j] as number) - level) ** 2;
    }
  }
  return distance;
}

function nearestLevel(levels: readonly number[], value: number): number {
  let index = 0;
  while (index + 1 < levels.length && 2 * value > (levels[index] as number) + (levels[index + 1] as number)) index++;
  return index;
}

const TABLES = new Map<Lattice, Uint16Array>();

/** The number of the point nearest to each combination of levels. */
function nearestTable(lattice: Lattice): Uint16Array {
  const known = TABLES.get(lattice);
  if (known !== undefined) return known;
  const { levels, width, count, points } = lattice;
  const table = new Uint16Array(levels.length ** width);
  const wanted = new Int8Array(width);
  for (let digits = 0; digits < table.length; digits++) {
    for (let j = 0, rest = digits; j < width; j++, rest = Math.floor(rest / levels.length)) {
      wanted[j] = levels[rest % levels.length] as number;
    }
    let least = Number.POSITIVE_INFINITY;
    for (let point = 0; point < count && least > 0; point++) {
      let distance = 0;
      for (let j = 0; j < width && distance < least; j++) {
        distance += ((wanted[j] as number) - (points[width * point + j] as number)) ** 2;
      }
      if (distance < least) [table[digits], least] = [point, distance];
    }
  }
  TABLES.set(lattice, table);
  return table;
}
