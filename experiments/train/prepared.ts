/** Files of a folder that prepare.ts writes and train.py, write-model.ts and evaluate.ts read. */
export const PREPARED = {
  /** Token ids of all training documents, uint16, little endian. */
  tokens: 'training.tokens',
  /** Tokens of each training document, uint16. */
  lengths: 'training.lengths',
  heldOutTokens: 'held-out.tokens',
  heldOutLengths: 'held-out.lengths',
  /** A GGUF file without tensors. */
  tokenizer: 'tokenizer.gguf',
  facts: 'facts.json',
} as const;
