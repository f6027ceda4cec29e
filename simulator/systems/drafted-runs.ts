import { randomStream } from '../../engine/input/random-stream.ts';

/** Successes before the first failure, of at most this many tries, at random. */
export function runsOf(rate: number, seed: number, name: string): (most: number) => number {
  const random = randomStream(seed, name);
  return (most) => {
    let successes = 0;
    while (successes < most && random.next() < rate) successes++;
    return successes;
  };
}
