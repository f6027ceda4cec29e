/**
 * Bounds on the counts and lengths in a header. Each is several times what published models need, and small enough that
 * a hostile file can't make the reader allocate much more memory than the file has bytes.
 */
export const GGUF_LIMITS = {
  /** Published models have 20 to 60 entries. */
  metadataEntries: 4096,
  /** The specification allows 65,535 bytes in a key. */
  keyBytes: 65_535,
  /** The longest strings seen are whole tokenizer files, 20 MB. */
  stringBytes: 2 ** 26,
  /** Vocabularies have 262,144 tokens, and about as many merges. */
  arrayElements: 2 ** 22,
  /** A model of 126 layers has 1,100 tensors; mixtures of experts have a few thousand. */
  tensors: 65_536,
  /** llama.cpp stores a tensor's name in 64 bytes. */
  tensorNameBytes: 64,
  /** ggml's tensors have one to four dimensions. */
  dimensions: 4,
  /** The alignment is 32 unless the file says otherwise; the largest pages in use have 65,536 bytes. */
  alignment: 65_536,
  /** Headers with the largest vocabularies have 10 to 20 MB. Short texts take four times their bytes in memory. */
  headerBytes: 2 ** 27,
} as const;
