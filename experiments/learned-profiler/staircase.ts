import type { PartShape } from '../../engine/cost/chip/part-times.ts';
import { randomStream } from '../../engine/input/random-stream.ts';
import { trainNetwork } from '../../engine/profile/predicted/train-network.ts';
import { trainTree } from '../../engine/profile/predicted/train-tree.ts';

/** Seconds by length, run for real and predicted from some of the lengths. */
export interface Staircase {
  readonly tokens: readonly number[];
  readonly real: readonly number[];
  readonly tree: readonly number[];
  readonly network: readonly number[];
  /** The lengths in the training set. */
  readonly seen: readonly number[];
}

export interface StaircaseCase {
  readonly rows: number;
  readonly columns: number;
  readonly most: number;
  readonly time: (shape: PartShape) => number;
  readonly seed: number;
  readonly epochs: number;
}

/** A tree and a network learn from half of all lengths, chosen at random, and predict the time of each. */
export async function staircase({ rows, columns, most, time, seed, epochs }: StaircaseCase): Promise<Staircase> {
  const shapes = Array.from({ length: most }, (_, index): PartShape => ({ rows, columns, tokens: index + 1 }));
  const real = shapes.map(time);
  const random = randomStream(seed, 'lengths that are seen');
  const chosen = shapes.map(() => random.next() < 0.5);
  const seen = shapes.flatMap((shape, index) => (chosen[index] ? [{ ...shape, seconds: real[index] as number }] : []));
  const network = await trainNetwork(seen, { seed, epochs });
  return {
    tokens: shapes.map(({ tokens }) => tokens),
    real,
    tree: trainTree(seen).predict(shapes),
    network: network.predict(shapes),
    seen: seen.map(({ tokens }) => tokens),
  };
}
