import { byteAlphabet } from '../byte-alphabet.ts';
import type { MetadataValue } from '../metadata-value.ts';

/** Kinds of tokens (llama.cpp, llama_token_type). */
const NORMAL = 1;
const CONTROL = 3;
const UNUSED = 5;

const SPECIALS = ['<|begin_of_text|>', '<|end_of_text|>'] as const;

/** 256 bytes, and the tokens for the beginning and end of a text. */
export const SMALLEST_VOCABULARY = 256 + SPECIALS.length;

/** The corpus yields fewer. */
const MOST_MERGES = 1024;

/**
 * A byte-level BPE tokenizer as llama.cpp reads it (model "gpt2", pre-tokenizer "llama-bpe"): the 256 bytes, then a
 * token for each merge learnt from CORPUS, then unused tokens, then the two special ones.
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

/** How Llama 3 splits text into words; merges never cross their borders (llama.cpp's "llama-bpe"). */
const WORDS =
  /'(?:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+/giu;

function llamaWords(text: string): string[] {
  return text.match(WORDS) ?? [];
}

/** Two tokens that become one. */
export type Merge = readonly [left: string, right: string];

/**
 * Byte-pair encoding (Sennrich et al. 2016) on bytes: the most frequent pair of neighbours becomes one token, again and
 * again, until there are `most` merges or no pair occurs twice. Ties go to the pair that sorts first.
 * @param split words of a text, whose borders no merge crosses. Default: Llama 3's rule
 */
export function learnMerges(
  text: string,
  most: number,
  split: (text: string) => Iterable<string> = llamaWords,
): Merge[] {
  const alphabet = byteAlphabet();
  const encoder = new TextEncoder();
  const counts = new Map<string, number>();
  for (const word of split(text)) counts.set(word, (counts.get(word) ?? 0) + 1);
  const words = [...counts].map(([word, count]) => ({
    tokens: Array.from(encoder.encode(word), (byte) => alphabet[byte] as string),
    count,
  }));
  const merges: Merge[] = [];
  while (merges.length < most) {
    const best = mostFrequentPair(words);
    if (best === undefined) break;
    merges.push(best);
    for (const word of words) word.tokens = merged(word.tokens, best);
  }
  return merges;
}

interface Word {
  tokens: string[];
  readonly count: number;
}

function mostFrequentPair(words: readonly Word[]): Merge | undefined {
  const pairs = new Map<string, number>();
  for (const { tokens, count } of words) {
    for (let index = 1; index < tokens.length; index++) {
      const pair = `${tokens[index - 1]} ${tokens[index]}`;
      pairs.set(pair, (pairs.get(pair) ?? 0) + count);
    }
  }
  let best: string | undefined;
  let most = 1;
  for (const [pair, count] of pairs) {
    if (count > most || (count === most && best !== undefined && pair < best)) [best, most] = [pair, count];
  }
  const [left, right] = best?.split(' ') ?? [];
  return left === undefined || right === undefined ? undefined : [left, right];
}

function merged(tokens: readonly string[], [left, right]: Merge): string[] {
  const result: string[] = [];
  for (let index = 0; index < tokens.length; index++) {
    const token = tokens[index] as string;
    const joins = token === left && tokens[index + 1] === right;
    result.push(joins ? left + right : token);
    if (joins) index++;
  }
  return result;
}

/** Text from which the merges are learnt: written for this project, and long enough for a few hundred merges. */
const CORPUS = `
A model that is too large for one machine can still run at home, if several machines share the work. The weights are
read from disk, layer by layer, while the layers before them are computed; what was read is kept as long as the memory
has room for it. A plan says which device runs which layers, on which processor, and in how many rounds. The scheduler
looks for the plan that takes the least time for each token, and the simulator shows where that time goes: to computing,
to reading memory, to waiting for the disk, or to sending the hidden state to the next device of the ring.

What does a token cost? Every matrix is multiplied with a vector once, so every weight is read once. A machine that
reads 40 GB per second and holds 4 GB of weights can't be faster than 10 tokens per second, whatever its arithmetic.
Quantization makes the weights smaller: 4 or 5 bits for a value instead of 16. The prompt is another matter, because all
of its tokens are multiplied at once; there the arithmetic is what counts, and a graphics card is worth its price.

The cat sat on the mat. The dog ran to the door, and the children were there. It was the first day of the year, and
they had been waiting for the others. "Where is the book?" she said. "I don't know, but I think that it's in the house."
He would have come with them if he could. There are many things that we should not do without thinking about them.

for (let index = 0; index < values.length; index++) { sum += values[index] * weights[index]; }
function add(first: number, second: number): number { return first + second; }
if (error instanceof Error) throw new Error(\`the value \${value} is not a number between 0 and 100\`);

Zurich, Köln, São Paulo, 東京; 3.14159, 2.71828, 1,000,000; 2024-01-31; https://example.org/path?query=value
`;
