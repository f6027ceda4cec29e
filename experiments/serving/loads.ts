import { poissonRequests, type StreamedRequest } from '../../engine/batch/request-stream.ts';

/** One load: requests at a rate, from a file, or from clients. */
export interface Load {
  readonly name: string;
  /** Requests per second as a share of the predicted capacity; `undefined` for clients and files. */
  readonly share: number | undefined;
  readonly clients: number | undefined;
}

export interface LoadsAsked {
  readonly shares: readonly number[];
  readonly clients: readonly number[];
  /** In place of drawn ones. */
  readonly requests: readonly StreamedRequest[] | undefined;
}

const PROMPT_TOKENS = [16, 256] as const;
const OUTPUT_TOKENS = [8, 64] as const;
const FEWEST_REQUESTS = 8;

export function loadsOf({ shares, clients, requests }: LoadsAsked): Load[] {
  if (requests !== undefined) return [{ name: 'the file’s requests', share: undefined, clients: undefined }];
  return [
    ...shares.map((share) => ({ name: `${share} of capacity`, share, clients: undefined })),
    ...clients.map((count) => ({
      name: count === 1 ? '1 client' : `${count} clients`,
      share: undefined,
      clients: count,
    })),
  ];
}

export function drawnRequests(seed: number, rate: number, requests: number): StreamedRequest[] {
  return poissonRequests({ seed, rate, requests, promptTokens: PROMPT_TOKENS, outputTokens: OUTPUT_TOKENS });
}

/** Requests of a load, for this many seconds at a capacity of requests per second. */
export function requestsAt(
  { share = 1 }: Load,
  { seed, seconds, capacity }: { readonly seed: number; readonly seconds: number; readonly capacity: number },
): StreamedRequest[] {
  const count = Math.ceil(capacity * seconds * Math.min(1, share));
  return drawnRequests(seed, share * capacity, Math.max(FEWEST_REQUESTS, count));
}
