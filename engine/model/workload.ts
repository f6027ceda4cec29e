import { InputError } from '../input/input-error.ts';
import type { KvFormat } from './kv-format.ts';

/** The request that a model answers: its tokens, batch and context. */
export interface Workload {
  /** Tokens of the prompt, processed together in prefill. */
  readonly promptTokens: number;
  readonly outputTokens: number;
  /** B: requests decoded together. */
  readonly batch: number;
  /** n_kv (prima.cpp), c (HELM): tokens in the KV cache while a token is decoded. */
  readonly context: number;
  /**
   * n_ctx: tokens that the KV cache has room for; equal to `context` by default. The memory is reserved from the start,
   * while only `context` tokens are read.
   */
  readonly reservedContext?: number;
  /** Number format of the KV cache; F16 by default. */
  readonly kvFormat?: KvFormat;
}

export const DEFAULT_WORKLOAD: Workload = { promptTokens: 128, outputTokens: 128, batch: 1, context: 1024 };

/**
 * A workload with defaults for what is not given.
 * @throws InputError unless every count is a whole number from 1 (contexts: 0) to ten million, and the reserved context
 *   is at least the context
 */
export function createWorkload(given: Partial<Workload> = {}): Workload {
  const workload = { ...DEFAULT_WORKLOAD, ...given };
  const { kvFormat: _, ...counts } = workload;
  for (const [key, value] of Object.entries(counts)) {
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
