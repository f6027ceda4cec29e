import { excerpt } from './excerpt.ts';
import { metrics } from './metrics.ts';
import type { TokenInterval, Trace } from './trace.ts';

/** The least and the most that a token takes, seconds. */
export interface SecondsRange {
  readonly least: number;
  readonly most: number;
}

/** Time and bytes of one token in steady state, over all devices. */
export interface TokenFigures {
  /** TPOT. */
  readonly seconds: number;
  /** Bytes read from disks. */
  readonly bytes: number;
  /** Seconds in which processors waited for disks. */
  readonly stall: number;
}

/** Tokens whose reads depend on what memory held at the start: the prompt's, and the first decoded one. */
const SKIPPED_TOKENS = 2;
export const LEAST_TOKENS = SKIPPED_TOKENS + 2;
/** The tokens of a run that are not counted, for help and captions. */
export const NOT_COUNTED = `the first ${SKIPPED_TOKENS} and the last not counted`;

/**
 * The tokens in steady state. The last is omitted: prefetches during it serve a token that the trace doesn't contain.
 */
export function countedTokens({ tokens }: Trace): readonly TokenInterval[] {
  return tokens.slice(SKIPPED_TOKENS, -1);
}

/** Beginning and end of the counted tokens, seconds; of the whole trace if it has too few. */
export function steadyInterval(trace: Trace): [from: number, to: number] {
  const tokens = countedTokens(trace);
  return [tokens[0]?.start ?? 0, tokens.at(-1)?.end ?? Number.POSITIVE_INFINITY];
}

/** Means over the counted tokens of a measured or simulated trace. @throws RangeError if no token is left to count */
export function tokenFigures(trace: Trace): TokenFigures {
  const tokens = countedTokens(trace);
  const [first, last] = [tokens[0], tokens.at(-1)];
  if (first === undefined || last === undefined)
    throw new RangeError(`${trace.tokens.length} tokens are too few: ${NOT_COUNTED}`);
  const { devices } = metrics(excerpt(trace, first.start, last.end));
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  return {
    seconds: sum(tokens.map(({ start, end }) => end - start)) / tokens.length,
    bytes: sum(devices.map(({ faultedBytes, prefetchedBytes }) => faultedBytes + prefetchedBytes)) / tokens.length,
    stall: sum(devices.map(({ stallSeconds }) => stallSeconds)) / tokens.length,
  };
}
