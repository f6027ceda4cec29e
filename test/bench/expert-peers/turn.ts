import { randomStream } from '../../../engine/input/random-stream.ts';

/** Tokens of a mixture that a child is asked to evaluate one by one. */
export interface ChildTask {
  readonly model: string;
  /** Bytes that the process may take in all. */
  readonly memory: number;
  readonly threads: number;
  readonly tokens: readonly number[];
  /** Tokens at the beginning that fill caches and aren't counted. */
  readonly warmUp: number;
}

/** One engine's run under one read-ahead. */
export interface Turn {
  /** Seconds of a token, their mean. */
  readonly tokenSeconds: number;
  /** Bytes that the process read from the disk for a token; `undefined` where the program doesn't count them. */
  readonly tokenBytes?: number;
  /** Shares of all experts: those that a token uses, and those that all counted tokens use; only Hearth says. */
  readonly used?: number;
  readonly distinct?: number;
  readonly description: string;
}

/** Tokens drawn at random from a vocabulary, the same for the same seed. */
export function randomTokens(count: number, vocabulary: number, seed: number): number[] {
  const stream = randomStream(seed, 'tokens');
  return Array.from({ length: count }, () => Math.floor(stream.next() * vocabulary));
}
