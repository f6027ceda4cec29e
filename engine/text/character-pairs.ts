import type { MetadataFields } from '../gguf/metadata-fields.ts';
import { addSymbols, mergeNeighbours } from './merge-neighbours.ts';
import { addWords, rememberWords } from './remember-words.ts';
import { byteTokens, characterEnds, VISIBLE_SPACE } from './sentence-piece.ts';
import type { Slices } from './slices.ts';
import { textNumbers } from './text-numbers.ts';
import { TOKENIZER_KEY, type TokenizerMethod, type Vocabulary } from './tokenizer.ts';

/** Lines and the breaks between them; merges cross neither. */
const LINES = /[^\n]+|\n+/g;

/**
 * BPE over characters with learnt merges (Gemma 4), as in llama.cpp (llm_tokenizer_bpe): spaces are visible as in
 * SentencePiece, a run of line breaks that is a token is used as it is, and characters that are no tokens are encoded byte
 * by byte (`<0x0A>`). Bytes without a token are left out.
 * @throws InputError for missing merges
 */
export function characterPairMethod(fields: MetadataFields, vocabulary: Vocabulary): TokenizerMethod {
  const merges = fields.optionalTexts(`${TOKENIZER_KEY}.merges`);
  if (merges === undefined)
    return fields.fail(`${TOKENIZER_KEY}.merges`, 'is missing; a BPE over characters needs its merges');
  const { ordinary } = vocabulary;
  const bytes = byteTokens(vocabulary);
  const encoder = new TextEncoder();
  const ranks = textNumbers(merges);
  const rank = (left: string, right: string): number | undefined => ranks.get(`${left} ${right}`);
  const addWord = rememberWords(function* (word, tokens): Slices<void> {
    const whole = word.startsWith('\n') ? ordinary.get(word) : undefined;
    if (whole !== undefined) {
      tokens.push(whole);
      return;
    }
    yield* addSymbols(yield* mergeNeighbours({ text: word, ends: yield* characterEnds(word) }, rank), (piece) => {
      const token = ordinary.get(piece);
      if (token !== undefined) tokens.push(token);
      else
        for (const byte of encoder.encode(piece)) {
          const own = bytes.get(byte);
          if (own !== undefined) tokens.push(own);
        }
    });
  });
  return {
    addsBegin: false,
    segmenter: {
      segment: (text, _leads, tokens) => addWords(linesOf(text.replaceAll(' ', VISIBLE_SPACE)), addWord, tokens),
      bytesOf: (spelling) => encoder.encode(spelling.replaceAll(VISIBLE_SPACE, ' ')),
    },
  };
}

function* linesOf(text: string): Iterable<string> {
  for (const [line] of text.matchAll(LINES)) yield line;
}
