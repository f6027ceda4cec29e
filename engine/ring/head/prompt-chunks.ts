/** Tokens that a single process takes through its layers at once (runtime/create-transformer.ts). */
const BATCH_TOKENS = 512;

/** Enough tokens to amortise a pass over the weights; their activations take some tens of MB on every device. */
export const MOST_CHUNK_TOKENS = 128;

/** Chunks may be half as large, and fewer than 4 tokens are multiplied by other kernels (native/operations). */
export const FEWEST_CHUNK_TOKENS = 8;

/**
 * Divides tokens into chunks of nearly equal size, which are in the ring at the same time. Chunks never span two
 * batches of the single process and are large enough for the same kernels, so that the results are identical to the
 * last bit.
 * @param most the most tokens in a chunk, at least FEWEST_CHUNK_TOKENS
 */
export function promptChunks(tokens: readonly number[], most: number): number[][] {
  const chunks: number[][] = [];
  for (let batch = 0; batch < tokens.length; batch += BATCH_TOKENS) {
    const count = Math.min(BATCH_TOKENS, tokens.length - batch);
    const parts = Math.ceil(count / most);
    const cut = (index: number): number => batch + Math.round((count * index) / parts);
    for (let part = 0; part < parts; part++) chunks.push(tokens.slice(cut(part), cut(part + 1)));
  }
  return chunks;
}
