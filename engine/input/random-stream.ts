/** A reproducible stream of random numbers. */
export interface RandomStream {
  /** Uniform in [0, 1). */
  next(): number;
  /** Uniform in [low, high). */
  uniform(low: number, high: number): number;
  /** Log-uniform in [low, high): every factor of two is equally likely. */
  logUniform(low: number, high: number): number;
  /** Normal, mean 0 and variance 1 (Box and Muller 1958). */
  normal(): number;
  /** Exponential, mean 1. */
  exponential(): number;
  /** Whole number from low to high, both included. */
  integer(low: number, high: number): number;
  /** One of the items. */
  pick<T>(items: readonly T[]): T;
}

/**
 * The stream called `name` under `seed`. Streams of different names are independent: drawing more from one doesn't
 * change the others. Generator: splitmix32 (32-bit variant of Steele, Lea, Flood 2014) from an FNV-1a hash of the name.
 */
export function randomStream(seed: number, name: string): RandomStream {
  let state = hash(`${seed}/${name}`);
  const next = (): number => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = state;
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  };
  const uniform = (low: number, high: number): number => low + (high - low) * next();
  const exponential = (): number => -Math.log(1 - next());
  const integer = (low: number, high: number): number => low + Math.floor((high - low + 1) * next());
  return {
    next,
    uniform,
    integer,
    exponential,
    normal: () => Math.sqrt(2 * exponential()) * Math.cos(2 * Math.PI * next()),
    logUniform: (low, high) => Math.exp(uniform(Math.log(low), Math.log(high))),
    pick: (items) => items[integer(0, items.length - 1)] as (typeof items)[number],
  };
}

function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  return value >>> 0;
}
