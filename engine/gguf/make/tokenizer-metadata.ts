import type { MetadataValue } from '../metadata-value.ts';
import { byteAlphabet } from './byte-alphabet.ts';
import { CORPUS } from './corpus.ts';
import { learnMerges } from './learn-merges.ts';

/** Kinds of tokens (llama.cpp, llama_token_type). */
const NORMAL = 1;
const CONTROL = 3;
const UNUSED = 5;

const SPECIALS = ['<|begin_of_text|>', '<|end_of_text|>'] as const;

/** 256 bytes, beginning and end of text. */
export const SMALLEST_VOCABULARY = 256 + SPECIALS.length;

/** The corpus yields fewer. */
const MOST_MERGES = 1024;

/**
 * A byte-level BPE tokenizer as llama.cpp reads it (model "gpt2", pre-tokenizer "llama-bpe"): the 256 bytes, then a token
 * for each merge learnt from CORPUS, then unused tokens, then the two special ones.
 * @param vocabularySize at least SMALLEST_VOCABULARY
 */
export function tokenizerMetadata(vocabularySize: number): [string, MetadataValue][] {
  const merges = learnMerges(CORPUS, Math.min(MOST_MERGES, vocabularySize - SMALLEST_VOCABULARY));
  const words = [...byteAlphabet(), ...merges.map(([left, right]) => left + right)];
  const unused = Array.from(
    { length: vocabularySize - words.length - SPECIALS.length },
    (_, index) => `[unused_${index}]`,
  );
  const tokens = [...words, ...unused, ...SPECIALS];
  const kinds = new Int32Array(vocabularySize).fill(NORMAL);
  kinds.fill(UNUSED, words.length, words.length + unused.length);
  kinds.fill(CONTROL, vocabularySize - SPECIALS.length);
  const texts = (values: readonly string[]): MetadataValue => ({ type: 'array', value: { of: 'string', values } });
  return [
    ['tokenizer.ggml.model', { type: 'string', value: 'gpt2' }],
    ['tokenizer.ggml.pre', { type: 'string', value: 'llama-bpe' }],
    ['tokenizer.ggml.tokens', texts(tokens)],
    ['tokenizer.ggml.token_type', { type: 'array', value: { of: 'int32', values: kinds } }],
    ['tokenizer.ggml.merges', texts(merges.map(([left, right]) => `${left} ${right}`))],
    ['tokenizer.ggml.bos_token_id', { type: 'uint32', value: vocabularySize - 2 }],
    ['tokenizer.ggml.eos_token_id', { type: 'uint32', value: vocabularySize - 1 }],
    ['tokenizer.ggml.add_bos_token', { type: 'bool', value: true }],
  ];
}
