/** Demand and costs that determine the mean figures of a server. */
export interface ServingLoad {
  /** Requests per second; or, for a closed loop, clients that send their next request when the last is answered. */
  readonly demand: { readonly rate: number } | { readonly clients: number };
  /** Mean tokens of a request. */
  readonly promptTokens: number;
  readonly outputTokens: number;
  /** Most requests that run together, as many as the pages hold on average; others wait. */
  readonly most: number;
  /** Seconds of a pass in which this many requests decode, and of a prompt's passes beyond the decoding next to them. */
  readonly decodeSeconds: (requests: number) => number;
  readonly promptSeconds: number;
}

/** Throughput and latencies of a server under a load, by closed form. */
export interface PredictedServing {
  /** Requests per second that the server completes, and those that it could complete at most. */
  readonly requestsPerSecond: number;
  readonly capacity: number;
  readonly tokensPerSecond: number;
  /** Mean number of requests that run or wait; infinite if more arrive than are completed. */
  readonly requests: number;
  /** Mean seconds of a token after the first. */
  readonly tokenSeconds: number;
  /** Mean seconds from arrival to the last token; infinite if more arrive than are completed. */
  readonly requestSeconds: number;
}

/** Requests beyond which a queue's states are no longer summed. */
const MOST_STATES = 100_000;
/** A state's weight, relative to the largest, below which those after it no longer count. */
const LEAST_WEIGHT = 1e-12;

/**
 * Mean figures of a server that evaluates requests together. With n of them, a request of O tokens lasts O − 1 passes of
 * t(n) and, as every request's prompt delays all others, n prompts of p: they complete at the rate
 * μ(n) = n / ((O − 1) t(n) + n p), n ≤ N; those beyond N wait. That is a processor-sharing station with a speed that
 * depends on the number of requests: with Poisson arrivals at the rate λ, π(n) ∝ Π λ / μ(i), whatever the distribution of
 * lengths (Kelly 1979, Reversibility and Stochastic Networks, Section 3.3). Seconds follow from Little's law, L = λ W
 * (Little 1961). In a closed loop there are n clients at any time. Means only: passes are taken to be as long as their
 * mean, and prompts to be spread evenly.
 */
export function predictServing(load: ServingLoad): PredictedServing {
  const { demand, outputTokens, most, decodeSeconds, promptSeconds } = load;
  const further = outputTokens - 1;
  const together = (requests: number): number => Math.min(requests, most);
  const secondsOf = (running: number): number => further * decodeSeconds(running) + running * promptSeconds;
  const rateOf = (requests: number): number => together(requests) / secondsOf(together(requests));
  /** Seconds per token while `requests` run; a request's own prompt comes before its first token. */
  const tokenOf = (requests: number): number => {
    const running = together(requests);
    return further === 0 ? 0 : decodeSeconds(running) + ((running - 1) * promptSeconds) / further;
  };
  const capacity = rateOf(most);
  const found = (rate: number, requests: number, tokenSeconds: number): PredictedServing => ({
    requestsPerSecond: rate,
    capacity,
    tokensPerSecond: rate * outputTokens,
    requests,
    tokenSeconds,
    requestSeconds: requests / rate,
  });
  if ('clients' in demand) return found(rateOf(demand.clients), demand.clients, tokenOf(demand.clients));
  const { rate } = demand;
  if (rate >= capacity) return found(capacity, Number.POSITIVE_INFINITY, tokenOf(most));
  let [weight, total, requests, running, tokens, largest] = [1, 1, 0, 0, 0, 1];
  for (let n = 1; n < MOST_STATES && weight > LEAST_WEIGHT * largest; n++) {
    weight *= rate / rateOf(n);
    largest = Math.max(largest, weight);
    total += weight;
    requests += weight * n;
    running += weight * together(n);
    tokens += weight * together(n) * tokenOf(n);
  }
  return found(rate, requests / total, tokens / running);
}
