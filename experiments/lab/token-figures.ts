import { metrics } from '../../engine/trace/metrics.ts';
import type { TokenInterval, Trace } from '../../engine/trace/trace.ts';
import { traceWindow } from '../../engine/trace/trace-window.ts';

/** What a token takes in steady state, of all devices together. */
export interface TokenFigures {
  /** TPOT, seconds. */
  readonly seconds: number;
  /** Read from disks. */
  readonly bytes: number;
  /** Seconds in which processors waited for the disk. */
  readonly stall: number;
}

/** Tokens that find memories as the start left them: the prompt, and the first that is decoded. */
const SKIPPED_TOKENS = 2;
export const LEAST_TOKENS = SKIPPED_TOKENS + 2;
/** For whoever reads about a run of so many. */
export const NOT_COUNTED = `the first ${SKIPPED_TOKENS} and the last not counted`;

/** Those in a steady state; what the last prefetches for another is not known any more. */
export function countedTokens({ tokens }: Trace): readonly TokenInterval[] {
  return tokens.slice(SKIPPED_TOKENS, -1);
}

/** Means over the tokens that count, of any trace: measured and simulated ones are read alike. @throws RangeError without one */
export function tokenFigures(trace: Trace): TokenFigures {
  const tokens = countedTokens(trace);
  const [first, last] = [tokens[0], tokens.at(-1)];
  if (first === undefined || last === undefined)
    throw new RangeError(`${trace.tokens.length} tokens are too few: ${NOT_COUNTED}`);
  const { devices } = metrics(traceWindow(trace, first.start, last.end));
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  return {
    seconds: sum(tokens.map(({ start, end }) => end - start)) / tokens.length,
    bytes: sum(devices.map(({ faultedBytes, prefetchedBytes }) => faultedBytes + prefetchedBytes)) / tokens.length,
    stall: sum(devices.map(({ stallSeconds }) => stallSeconds)) / tokens.length,
  };
}
