import { byteAlphabet } from '../../engine/gguf/byte-alphabet.ts';
import { learnMerges } from '../../engine/gguf/make/tokenizer.ts';
import type { MetadataValue } from '../../engine/gguf/metadata-value.ts';
import { TOKEN_KIND } from '../../engine/text/tokenizer.ts';
import { WORD_RULES, type WordRules } from '../../engine/text/word-rules.ts';
import { CHAT_TEMPLATE, conversationText } from './chat-template.ts';
import { type Document, firstDocuments } from './grammar/grammar.ts';

/** Tokens of the vocabulary: the 256 bytes, what was learnt, and SPECIALS at the end. */
export const VOCABULARY_SIZE = 1024;

const SPECIALS = ['<|begin_of_text|>', '<|end_of_text|>', '<|im_start|>', '<|im_end|>'] as const;

/** Documents from which the merges are learnt: enough that each word of the grammar occurs often. */
const SAMPLE = 4000;

const RULES = 'gpt-2';

/** A document as a text in which control tokens are spelled out, without the token at the beginning. */
export function documentText({ content }: Document): string {
  return `${typeof content === 'string' ? content : conversationText(content)}<|end_of_text|>`;
}

/**
 * Metadata of a byte-level BPE tokenizer learnt from the corpus of a seed, with the chat template. Numbers are written
 * digit by digit, so that sums can be learnt; the first digit joins the space before it.
 */
export function tokenizerMetadata(seed: number): [string, MetadataValue][] {
  const merges = learnMerges(sampleText(seed), VOCABULARY_SIZE - 256 - SPECIALS.length, (text) =>
    (WORD_RULES.get(RULES) as WordRules).words(text),
  );
  const words = [...byteAlphabet(), ...merges.map(([left, right]) => left + right)];
  const unused = VOCABULARY_SIZE - SPECIALS.length - words.length;
  const tokens = [...words, ...Array.from({ length: unused }, (_, index) => `[unused_${index}]`), ...SPECIALS];
  const kinds = new Int32Array(tokens.length).fill(TOKEN_KIND.normal);
  kinds.fill(TOKEN_KIND.unused, words.length, words.length + unused);
  kinds.fill(TOKEN_KIND.control, tokens.length - SPECIALS.length);
  const text = (value: string): MetadataValue => ({ type: 'string', value });
  const texts = (values: readonly string[]): MetadataValue => ({ type: 'array', value: { of: 'string', values } });
  return [
    ['tokenizer.ggml.model', text('gpt2')],
    ['tokenizer.ggml.pre', text(RULES)],
    ['tokenizer.ggml.tokens', texts(tokens)],
    ['tokenizer.ggml.token_type', { type: 'array', value: { of: 'int32', values: kinds } }],
    ['tokenizer.ggml.merges', texts(merges.map(([left, right]) => `${left} ${right}`))],
    ['tokenizer.ggml.bos_token_id', { type: 'uint32', value: tokens.indexOf(SPECIALS[0]) }],
    ['tokenizer.ggml.eos_token_id', { type: 'uint32', value: tokens.indexOf(SPECIALS[1]) }],
    ['tokenizer.ggml.add_bos_token', { type: 'bool', value: true }],
    ['tokenizer.chat_template', text(CHAT_TEMPLATE)],
  ];
}

function sampleText(seed: number): string {
  return firstDocuments(seed, 'training', SAMPLE)
    .map((document) =>
      documentText(document)
        .replaceAll(/<\|\w+\|>/g, '\n')
        .replaceAll(/(\d)\d+/g, '$1'),
    )
    .join('\n');
}
