import { byteAlphabet } from '../gguf/byte-alphabet.ts';
import { quoted } from '../gguf/gguf-error.ts';
import type { MetadataFields } from '../gguf/metadata-fields.ts';
import type { TextList } from '../gguf/text-list.ts';
import { InputError } from '../input/input-error.ts';
import { addSymbols, mergeNeighbours } from './merge-neighbours.ts';
import { addWords, rememberWords } from './remember-words.ts';
import { SLICE, type Slices } from './slices.ts';
import { textNumbers } from './text-numbers.ts';
import { type Segmenter, TOKENIZER_KEY, type TokenizerMethod, type Vocabulary } from './tokenizer.ts';
import { WORD_RULES, type WordRules } from './word-rules.ts';

/** Byte-level BPE as described by the metadata. @throws InputError for missing merges and unknown word rules */
export function bytePairMethod(fields: MetadataFields, vocabulary: Vocabulary): TokenizerMethod {
  const merges = fields.optionalTexts(`${TOKENIZER_KEY}.merges`);
  if (merges === undefined)
    return fields.fail(`${TOKENIZER_KEY}.merges`, 'is missing; a byte-level BPE needs its merges');
  const pre = fields.optionalText(`${TOKENIZER_KEY}.pre`) ?? 'default';
  const rules = WORD_RULES.get(pre);
  if (rules === undefined) {
    const supported = [...WORD_RULES.keys()].join(', ');
    return fields.fail(`${TOKENIZER_KEY}.pre`, `${quoted(pre)} is not supported; supported: ${supported}`);
  }
  return { segmenter: bytePairs(vocabulary, merges, rules), addsBegin: rules.addsBegin };
}

/**
 * Byte-level BPE (Radford et al. 2019), as in GPT-2, Llama 3 and Qwen: text is cut into words, words into bytes, and
 * within a word neighbours are merged in the order in which the merges were learnt.
 * @param merges "left right", the first learnt first
 */
export function bytePairs(vocabulary: Vocabulary, merges: TextList, rules: WordRules): Segmenter {
  const { file, ordinary, spellings, unknown } = vocabulary;
  const letters = byteAlphabet();
  const bytes = new Map(letters.map((letter, byte) => [letter, byte]));
  const encoder = new TextEncoder();
  // A merge that occurs twice has its first rank.
  const ranks = textNumbers(merges);
  const rank = (left: string, right: string): number | undefined => ranks.get(`${left} ${right}`);

  const tokenOf = (letter: string): number => {
    const token = ordinary.get(letter) ?? unknown;
    if (token !== undefined) return token;
    const byte = (bytes.get(letter) as number).toString(16).padStart(2, '0');
    throw new InputError(file, `the vocabulary of ${spellings.length} tokens has none for byte 0x${byte} of the text`);
  };
  const codes = letters.map((letter) => letter.charCodeAt(0));
  const lettersOf = function* (word: Uint8Array): Slices<string> {
    const parts: string[] = [];
    for (let from = 0; from < word.length; from += SLICE) {
      parts.push(
        String.fromCharCode(...Array.from(word.subarray(from, from + SLICE), (byte) => codes[byte] as number)),
      );
      yield;
    }
    return parts.join('');
  };
  const addWord = rememberWords(function* (word, tokens) {
    const text = yield* lettersOf(encoder.encode(word));
    const whole = rules.wholeWords ? ordinary.get(text) : undefined;
    if (whole !== undefined) {
      tokens.push(whole);
      return;
    }
    yield* addSymbols(yield* mergeNeighbours({ text, ends: yield* countFrom1(text.length) }, rank), (piece) => {
      const token = ordinary.get(piece);
      if (token !== undefined) tokens.push(token);
      else for (const letter of piece) tokens.push(tokenOf(letter));
    });
  });
  return {
    segment: (text, _leads, tokens) => addWords(rules.words(text), addWord, tokens),
    bytesOf(spelling) {
      const own = Array.from(spelling, (letter) => bytes.get(letter));
      return own.includes(undefined) ? encoder.encode(spelling) : Uint8Array.from(own as number[]);
    },
  };
}

/** 1, 2, … length. */
function* countFrom1(length: number): Slices<Int32Array> {
  const numbers = new Int32Array(length);
  for (let index = 0; index < length; index++) {
    numbers[index] = index + 1;
    if (index % SLICE === SLICE - 1) yield;
  }
  return numbers;
}
