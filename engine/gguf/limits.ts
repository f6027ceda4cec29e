/**
 * Bounds on what a header may claim. Each is several times what published models need, and small enough that a
 * hostile file can't make the reader allocate more than its own bytes justify.
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
  /** llama.cpp keeps a tensor's name in 64 bytes. */
  tensorNameBytes: 64,
  /** ggml's tensors have one to four dimensions. */
  dimensions: 4,
  /** Alignment is 32 unless the file says otherwise; a page of the largest kind in use has 65,536. */
  alignment: 65_536,
  /** Vocabularies make the largest headers, 10 to 20 MB. Short texts take four times their bytes in memory. */
  headerBytes: 2 ** 27,
} as const;
