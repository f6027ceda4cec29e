import { checkShape, type PartShape } from '../../cost/chip/part-times.ts';
import { randomStream } from '../../input/random-stream.ts';

/** What shapes are drawn from. */
export interface ShapeSpace {
  /** Rows from the first to the last, every factor of two equally likely, in multiples of `rowAlignment`. */
  readonly rows: readonly [least: number, most: number];
  readonly rowAlignment: number;
  /** Any of these. */
  readonly columns: readonly number[];
  /** Any of these, or any from the first to the last, every factor of two equally likely. */
  readonly tokens: { readonly of: readonly number[] } | { readonly from: number; readonly to: number };
}

/**
 * So many random shapes, the same for the same seed.
 * @param name of the stream, so that two spaces under one seed are drawn independently
 * @throws InputError if the space holds a shape that can't be
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
