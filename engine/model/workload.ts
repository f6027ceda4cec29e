import { InputError } from '../input/input-error.ts';

/** What is asked of the model. */
export interface Workload {
  /** Tokens of the prompt, processed at once in prefill. */
  readonly promptTokens: number;
  readonly outputTokens: number;
  /** B: requests decoded together. */
  readonly batch: number;
  /** n_kv (prima.cpp), c (HELM): tokens held in the KV cache while a token is decoded. */
  readonly context: number;
  /**
   * n_ctx: tokens that the KV cache has room for. Its memory is taken from the start, while only the `context` is read;
   * as many as the context unless given.
   */
  readonly reservedContext?: number;
}

export const DEFAULT_WORKLOAD: Workload = { promptTokens: 128, outputTokens: 128, batch: 1, context: 1024 };

/**
 * @throws InputError unless every count is a whole number of at least 1 (the contexts may be 0) and up to ten million,
 * and the context has room in what is reserved for it
 */
export function createWorkload(given: Partial<Workload> = {}): Workload {
  const workload = { ...DEFAULT_WORKLOAD, ...given };
  for (const [key, value] of Object.entries(workload)) {
    const least = key === 'context' || key === 'reservedContext' ? 0 : 1;
    if (!Number.isInteger(value) || value < least || value > 1e7) {
      throw new InputError(`workload.${key}`, `${value} is not a whole number between ${least} and 10000000`);
    }
  }
  const { context, reservedContext = context } = workload;
  if (reservedContext < context) {
    throw new InputError(
      'workload.reservedContext',
      `${reservedContext} tokens have no room for a context of ${context}`,
    );
  }
  return workload;
}
