import type { Gguf } from '../gguf/gguf.ts';
import { quoted } from '../gguf/gguf-error.ts';
import { type MetadataFields, metadataFields } from '../gguf/metadata-fields.ts';
import { bytePairs } from './byte-pairs.ts';
import { byteOf, sentencePiece } from './sentence-piece.ts';
import { type Fragment, specialTokens } from './special-tokens.ts';
import type { Segmenter, Tokenizer } from './tokenizer.ts';
import { numbersPerToken, readVocabulary, TOKEN_KIND, type Vocabulary } from './vocabulary.ts';
import { WORD_RULES } from './word-rules.ts';

const KEY = 'tokenizer.ggml';

/** Control tokens that end a turn in the supported families, for files that name only the end of text. */
const ENDS_OF_TURNS = ['<|eot_id|>', '<|eom_id|>', '<|end_of_text|>', '<|im_end|>', '<|endoftext|>', '</s>'];

interface Method {
  readonly segmenter: Segmenter;
  readonly addsBegin: boolean;
}

/**
 * The tokenizer in a GGUF file's metadata, with llama.cpp's meaning: `llama` (SentencePiece) and `gpt2` (byte-level BPE).
 * @throws InputError for a file without vocabulary, and for models and word rules that aren't supported
 */
export function loadTokenizer(gguf: Gguf): Tokenizer {
  const fields = metadataFields(gguf);
  const vocabulary = readVocabulary(gguf);
  const { spellings, kinds } = vocabulary;
  const { segmenter, ...method } = createMethod(fields, vocabulary);
  const cut = specialTokens(vocabulary);
  const token = (name: string): number | undefined => fields.optionalIndex(`${KEY}.${name}_token_id`, spellings.length);
  const [begin, end] = [token('bos'), token('eos')];
  const addsBegin = begin !== undefined && (fields.optionalBool(`${KEY}.add_bos_token`) ?? method.addsBegin);
  const addsEnd = end !== undefined && (fields.optionalBool(`${KEY}.add_eos_token`) ?? false);
  const stops = [end, token('eot'), token('eom'), ...endsOfTurns(vocabulary)].filter((id) => id !== undefined);

  const segment = (fragment: Fragment, index: number, all: readonly Fragment[]): number | number[] =>
    typeof fragment === 'number' ? fragment : segmenter.segment(fragment, typeof all[index - 1] !== 'string');
  return {
    size: spellings.length,
    begin,
    end,
    addsBegin,
    stops: new Set(stops),
    encode(text, { addSpecial = false, parseSpecial = false } = {}) {
      const tokens = cut(text, parseSpecial).flatMap(segment);
      if (addSpecial && addsBegin) tokens.unshift(begin);
      if (addSpecial && addsEnd) tokens.push(end);
      return tokens;
    },
    spell: (id) => spellings[id] ?? '',
    bytesOf(id) {
      const spelling = spellings[id] ?? '';
      switch (kinds[id]) {
        case TOKEN_KIND.control:
        case TOKEN_KIND.unknown:
          return new Uint8Array(0);
        case TOKEN_KIND.userDefined:
          return new TextEncoder().encode(spelling);
        case TOKEN_KIND.byte:
          return Uint8Array.of(byteOf(spelling) ?? 0);
        default:
          return segmenter.bytesOf(spelling);
      }
    },
  };
}

function createMethod(fields: MetadataFields, vocabulary: Vocabulary): Method {
  const model = fields.text(`${KEY}.model`);
  switch (model) {
    case 'llama':
      return sentencePieceMethod(fields, vocabulary);
    case 'gpt2':
      return bytePairMethod(fields, vocabulary);
    default: {
      const supported = 'supported: llama (SentencePiece), gpt2 (byte-level BPE)';
      return fields.fail(`${KEY}.model`, `${quoted(model)} is not supported; ${supported}`);
    }
  }
}

function sentencePieceMethod(fields: MetadataFields, vocabulary: Vocabulary): Method {
  const scores = numbersPerToken(fields, `${KEY}.scores`, vocabulary.spellings.length);
  if (scores === undefined) return fields.fail(`${KEY}.scores`, 'is missing; a score for each token is needed');
  const spacePrefix = fields.optionalBool(`${KEY}.add_space_prefix`) ?? true;
  return { segmenter: sentencePiece(vocabulary, { scores, spacePrefix }), addsBegin: true };
}

function bytePairMethod(fields: MetadataFields, vocabulary: Vocabulary): Method {
  const merges = fields.optionalTexts(`${KEY}.merges`);
  if (merges === undefined) return fields.fail(`${KEY}.merges`, 'is missing; a byte-level BPE needs its merges');
  const pre = fields.optionalText(`${KEY}.pre`) ?? 'default';
  const rules = WORD_RULES.get(pre);
  if (rules === undefined) {
    const supported = [...WORD_RULES.keys()].join(', ');
    return fields.fail(`${KEY}.pre`, `${quoted(pre)} is not supported; supported: ${supported}`);
  }
  return { segmenter: bytePairs(vocabulary, merges, rules), addsBegin: rules.addsBegin };
}

function endsOfTurns({ spellings, kinds }: Vocabulary): number[] {
  const found: number[] = [];
  for (let token = 0; token < spellings.length; token++) {
    if (kinds[token] === TOKEN_KIND.control && ENDS_OF_TURNS.includes(spellings[token] as string)) found.push(token);
  }
  return found;
}
