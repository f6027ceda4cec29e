import { randomStream } from '../../engine/input/random-stream.ts';

/**
 * Numbers of the plans to simulate, ascending: all of `size`, or `most` of them drawn at random without replacement
 * (Floyd's algorithm: R. W. Floyd, J. Bentley, CACM 30(9), 1987), the same for the same seed.
 */
export function sampleNumbers(size: number, most: number, seed: number): Float64Array {
  if (size <= most) return Float64Array.from({ length: size }, (_, index) => index);
  const { next } = randomStream(seed, 'plans');
  // Two draws of 32 bits: one reaches only the first 2³² plans.
  const below = (bound: number): number => Math.floor(((Math.floor(next() * 2 ** 21) + next()) / 2 ** 21) * bound);
  const drawn = new Set<number>();
  for (let bound = size - most; bound < size; bound++) {
    const number = below(bound + 1);
    drawn.add(drawn.has(number) ? bound : number);
  }
  return Float64Array.from(drawn).sort();
}
