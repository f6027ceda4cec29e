import { checkShape, type PartShape } from '../../cost/chip/part-times.ts';
import { randomStream } from '../../input/random-stream.ts';

/** The distribution of random shapes. */
export interface ShapeSpace {
  /** Log-uniform between the first and the last, rounded to multiples of `rowAlignment`. */
  readonly rows: readonly [least: number, most: number];
  readonly rowAlignment: number;
  /** One of these, uniformly. */
  readonly columns: readonly number[];
  /** One of these, or log-uniform between the first and the last. */
  readonly tokens: { readonly of: readonly number[] } | { readonly from: number; readonly to: number };
}

/**
 * Draws `count` random shapes, the same for the same seed.
 * @param name names the random stream, so that two spaces with one seed are drawn independently
 * @throws InputError if the space contains an invalid shape
 */
export function sampleShapes(space: ShapeSpace, count: number, seed: number, name: string): PartShape[] {
  const random = randomStream(seed, name);
  const [least, most] = space.rows;
  const aligned = (rows: number): number =>
    Math.min(most, Math.max(least, Math.round(rows / space.rowAlignment) * space.rowAlignment));
  return Array.from({ length: count }, () => {
    const { tokens } = space;
    const shape = {
      rows: aligned(random.logUniform(least, most)),
      columns: random.pick(space.columns),
      tokens: 'of' in tokens ? random.pick(tokens.of) : Math.floor(random.logUniform(tokens.from, tokens.to + 1)),
    };
    checkShape(shape);
    return shape;
  });
}
