import type { MetadataFields } from '../gguf/metadata-fields.ts';
import { addSymbols, mergeNeighbours } from './merge-neighbours.ts';
import { addWords, rememberWords } from './remember-words.ts';
import { SLICE, type Slices } from './slices.ts';
import { type Segmenter, TOKEN_KIND, TOKENIZER_KEY, type TokenizerMethod, type Vocabulary } from './tokenizer.ts';

/** SentencePiece's sign for a space. */
export const VISIBLE_SPACE = '\u2581';

/** Default if a file doesn't name the token, as in llama.cpp. */
const UNKNOWN = 0;

/** SentencePiece as described by the metadata. @throws InputError if scores are missing */
export function sentencePieceMethod(fields: MetadataFields, vocabulary: Vocabulary): TokenizerMethod {
  const scores = fields.numbersPerToken(`${TOKENIZER_KEY}.scores`, vocabulary.spellings.length);
  if (scores === undefined)
    return fields.fail(`${TOKENIZER_KEY}.scores`, 'is missing; a score for each token is needed');
  const spacePrefix = fields.optionalBool(`${TOKENIZER_KEY}.add_space_prefix`) ?? true;
  return { segmenter: sentencePiece(vocabulary, { scores, spacePrefix }), addsBegin: true };
}

export interface SentencePieceOptions {
  /** By token: merges that yield tokens with higher scores come first. */
  readonly scores: ArrayLike<number>;
  /** Whether a space is added before a text, so that a word is the same token everywhere. */
  readonly spacePrefix: boolean;
}

/**
 * SentencePiece's BPE (Kudo and Richardson 2018), as in Llama 1 and 2: neighbours whose concatenation is a token are
 * merged, highest score first; symbols that are not tokens in the end are encoded byte by byte (`<0x0A>`).
 */
export function sentencePiece(vocabulary: Vocabulary, { scores, spacePrefix }: SentencePieceOptions): Segmenter {
  const { ordinary, unknown = UNKNOWN } = vocabulary;
  const bytes = byteTokens(vocabulary);
  const encoder = new TextEncoder();
  const rank = (left: string, right: string): number | undefined => {
    const token = ordinary.get(left + right);
    return token === undefined ? undefined : -(scores[token] as number);
  };
  const addPart = function* (part: string, tokens: number[]): Slices<void> {
    const symbols = { text: part, ends: yield* characterEnds(part) };
    yield* addSymbols(yield* mergeNeighbours(symbols, rank), (piece) => {
      const token = ordinary.get(piece);
      if (token !== undefined) tokens.push(token);
      else for (const byte of encoder.encode(piece)) tokens.push(bytes.get(byte) ?? unknown);
    });
  };
  const addWord = rememberWords(addPart);
  let isWordwise: boolean | undefined;
  return {
    segment(text, leads, tokens) {
      const spaced = (spacePrefix && leads ? ` ${text}` : text).replaceAll(' ', VISIBLE_SPACE);
      isWordwise ??= endsBeforeSpaces(vocabulary);
      return isWordwise ? addWords(wordsOf(spaced), addWord, tokens) : addPart(spaced, tokens);
    },
    bytesOf(spelling) {
      return encoder.encode(spelling.replaceAll(VISIBLE_SPACE, ' '));
    },
  };
}

/** End of each character of a text. */
export function* characterEnds(text: string): Slices<Int32Array> {
  const ends = new Int32Array(text.length);
  let count = 0;
  for (let end = 0; end < text.length; count++) {
    end += (text.codePointAt(end) as number) > 0xffff ? 2 : 1;
    ends[count] = end;
    if (count % SLICE === SLICE - 1) yield;
  }
  return ends.subarray(0, count);
}

/** Spaces and what follows up to the next space. */
function* wordsOf(text: string): Iterable<string> {
  for (const [word] of text.matchAll(/\u2581*[^\u2581]+|\u2581+/g)) yield word;
}

/** Whether no token has a space after anything else, so that no merge crosses the beginning of a word. */
function endsBeforeSpaces({ spellings }: Vocabulary): boolean {
  for (const spelling of spellings) if (/[^\u2581]\u2581/.test(spelling)) return false;
  return true;
}

/** Tokens that stand for a byte, by it. */
export function byteTokens({ spellings, kinds }: Vocabulary): Map<number, number> {
  const tokens = new Map<number, number>();
  for (let token = 0; token < spellings.length; token++) {
    if (kinds[token] !== TOKEN_KIND.byte) continue;
    const byte = byteOf(spellings.at(token) as string);
    if (byte !== undefined) tokens.set(byte, token);
  }
  return tokens;
}

/** The byte that `<0x0A>` stands for. */
export function byteOf(spelling: string): number | undefined {
  const digits = /^<0x([0-9A-Fa-f]{2})>$/.exec(spelling)?.[1];
  return digits === undefined ? undefined : Number.parseInt(digits, 16);
}
