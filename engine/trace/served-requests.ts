import { quantile } from './metrics.ts';

/** When a request was served, simulated or measured; seconds from the beginning of the stream. */
export interface ServedRequest {
  readonly promptTokens: number;
  /** Tokens that were generated. */
  readonly outputTokens: number;
  /** Tokens of the prompt that were there already, from prompts that begin alike. */
  readonly cachedTokens: number;
  readonly arrival: number;
  /** When it was first admitted to a pass; `undefined` if that was not observed. */
  readonly begin: number | undefined;
  readonly firstToken: number;
  readonly end: number;
}

/** Mean and percentiles of a quantity over requests; `undefined` if none has it. */
export interface Percentiles {
  readonly mean: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

/** Figures that a server's users see. */
export interface ServedFigures {
  readonly requests: number;
  /** Seconds from arrival to the first token (TTFT). */
  readonly firstTokenSeconds: Percentiles | undefined;
  /** Seconds per token after the first (TPOT), of requests with more than one. */
  readonly tokenSeconds: Percentiles | undefined;
  /** Seconds from arrival to the last token. */
  readonly requestSeconds: Percentiles | undefined;
  /** Seconds from arrival to admission. */
  readonly queueSeconds: Percentiles | undefined;
  /** Generated tokens of all requests per second, from the first arrival to the last token. */
  readonly tokensPerSecond: number;
}

/** Sums up requests that were served, whether simulated or measured. */
export function servedFigures(requests: readonly ServedRequest[]): ServedFigures {
  const first = requests.reduce((least, { arrival }) => Math.min(least, arrival), Number.POSITIVE_INFINITY);
  const last = requests.reduce((most, { end }) => Math.max(most, end), 0);
  const tokens = requests.reduce((sum, { outputTokens }) => sum + outputTokens, 0);
  return {
    requests: requests.length,
    firstTokenSeconds: percentiles(requests.map(({ arrival, firstToken }) => firstToken - arrival)),
    tokenSeconds: percentiles(
      requests
        .filter(({ outputTokens }) => outputTokens > 1)
        .map(({ firstToken, end, outputTokens }) => (end - firstToken) / (outputTokens - 1)),
    ),
    requestSeconds: percentiles(requests.map(({ arrival, end }) => end - arrival)),
    queueSeconds: percentiles(requests.flatMap(({ arrival, begin }) => (begin === undefined ? [] : [begin - arrival]))),
    tokensPerSecond: requests.length === 0 ? 0 : tokens / (last - first),
  };
}

function percentiles(values: readonly number[]): Percentiles | undefined {
  if (values.length === 0) return undefined;
  const at = (share: number): number => quantile(values, share) as number;
  return {
    mean: values.reduce((sum, one) => sum + one, 0) / values.length,
    p50: at(0.5),
    p95: at(0.95),
    p99: at(0.99),
  };
}
