import type { EmbeddingRequest } from './batch-engine.ts';
import type { RequestTask } from './request-task.ts';

/** A request for an embedding, for the engine. */
export interface RequestEmbedding extends RequestTask {
  /** [hidden], see BatchEngine. */
  readonly result: Promise<Float32Array | undefined>;
}

/**
 * Sums hidden states token by token, in double precision, so that it doesn't matter how passes divide them. It needs
 * those of every token, so it uses no pages that others evaluated.
 */
export function createRequestEmbedding({ tokens, signal }: EmbeddingRequest, hiddenSize: number): RequestEmbedding {
  const sums = new Float64Array(hiddenSize);
  let resolve: (mean: Float32Array | undefined) => void = () => {};
  let reject: (error: unknown) => void = () => {};
  const result = new Promise<Float32Array | undefined>((fulfil, refuse) => {
    resolve = fulfil;
    reject = refuse;
  });
  result.catch(() => {}); // the caller may be gone
  return {
    result,
    history: tokens,
    sharesPages: false,
    get isCancelled() {
      return signal?.aborted === true;
    },
    begin: () => void sums.fill(0),
    mostDrafted: 0,
    draftSampler: () => () => 0,
    wanted: () => 'hidden',
    take(states, { isLast }) {
      for (let row = 0; row < states.length; row += hiddenSize)
        for (let i = 0; i < hiddenSize; i++) sums[i] = (sums[i] as number) + (states[row + i] as number);
      if (isLast) resolve(Float32Array.from(sums, (sum) => sum / tokens.length));
      return !isLast;
    },
    interrupt: () => resolve(undefined),
    fail: reject,
  };
}
