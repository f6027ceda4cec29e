/** Tokens that the single process takes through its layers at once (create-transformer.ts). */
const BATCH_TOKENS = 512;

/** Enough for a pass over the weights to pay; activations for them have some tens of MB on every device. */
export const MOST_CHUNK_TOKENS = 128;

/** Chunks of half of it are possible, and fewer than 4 tokens are multiplied in another way (native/operations). */
export const FEWEST_CHUNK_TOKENS = 8;

/**
 * Cuts tokens into chunks that are in the ring at the same time, at most `most` each, as equal as possible. They never
 * span two of the single process's batches and aren't so small that its kernels would multiply them in another way: the
 * results are the same to the last bit.
 * @param most at least FEWEST_CHUNK_TOKENS
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
