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
}

export const DEFAULT_WORKLOAD: Workload = { promptTokens: 128, outputTokens: 128, batch: 1, context: 1024 };

/** @throws InputError unless every count is a whole number of at least 1 (context may be 0) and below ten million */
export function createWorkload(given: Partial<Workload> = {}): Workload {
  const workload = { ...DEFAULT_WORKLOAD, ...given };
  for (const [key, value] of Object.entries(workload)) {
    const least = key === 'context' ? 0 : 1;
    if (!Number.isInteger(value) || value < least || value > 1e7) {
      throw new InputError(`workload.${key}`, `${value} is not a whole number between ${least} and 10000000`);
    }
  }
  return workload;
}
