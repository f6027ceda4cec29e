import { randomStream } from '../../engine/input/random-stream.ts';

/** Factor by which the next computation of a processor takes longer than modelled; drawn anew at every call. */
export type Noise = (device: string, processor: string) => number;

/**
 * Log-normal factors with mean 1, from a random stream per processor.
 * @param relative standard deviation of the factor's logarithm, close to the coefficient of variation if it is small
 */
export function createNoise(seed: number, relative: number): Noise {
  if (relative === 0) return () => 1;
  const streams = new Map<string, ReturnType<typeof randomStream>>();
  return (device, processor) => {
    const name = `${device}/${processor}`;
    const stream = streams.get(name) ?? randomStream(seed, name);
    streams.set(name, stream);
    return Math.exp(relative * stream.normal() - relative ** 2 / 2);
  };
}
