import type { Gguf } from '../gguf/gguf.ts';
import { quoted } from '../gguf/gguf-error.ts';
import type { MetadataFields } from '../gguf/metadata-fields.ts';
import { bytePairMethod } from './byte-pairs.ts';
import { characterPairMethod } from './character-pairs.ts';
import { fillMarks } from './fill-marks.ts';
import { byteOf, sentencePieceMethod } from './sentence-piece.ts';
import { atOnce, inTurns, SLICE, type Slices } from './slices.ts';
import { textNumbers } from './text-numbers.ts';
import {
  type EncodeOptions,
  TOKEN_KIND,
  TOKENIZER_KEY,
  type Tokenizer,
  type TokenizerMethod,
  type Vocabulary,
} from './tokenizer.ts';

/**
 * Tokens that end a turn or a text in some family. Files give them any kind; they are control tokens, as in llama.cpp
 * (special_eog_ids).
 */
const ENDS_OF_TURNS: ReadonlySet<string> = new Set([
  ...['<|eot_id|>', '<|eom_id|>', '<|end_of_text|>', '<|im_end|>', '<|endoftext|>', '<|end|>', '<end_of_turn>'],
  ...['<EOT>', '_<EOT>', '<|call|>', '<|return|>', '<|calls|>', '<|flush|>', '<|eot|>', '<turn|>', '<|end_of_turn|>'],
  ...['<end_of_utterance>', '<｜end▁of▁sentence｜>', '<|END_OF_TURN_TOKEN|>'],
]);
/** Ends of texts that a vocabulary may have as plain text too. */
const ENDS_IF_CONTROL: ReadonlySet<string> = new Set(['</s>', '[EOS]', '[EOT]', '<eos>']);
/** gpt-oss ends each part of an answer with the first, and the answer with one of the others. */
const ENDS_OF_PARTS = { part: '<|end|>', answers: ['<|return|>', '<|call|>'] } as const;

/** Marks of turns that some files list as user-defined tokens, which plain text may otherwise become. */
const TURN_MARK = /^(?:<[|｜].*[|｜]>|<(?:start|end)_of_turn>)$/s;

/** Tokens of a long text that are kept together while it is encoded. */
const PART_TOKENS = 2 ** 16;

/** The supported tokenizer models, by `tokenizer.ggml.model`. */
const METHODS: ReadonlyMap<string, (fields: MetadataFields, vocabulary: Vocabulary) => TokenizerMethod> = new Map([
  ['llama', sentencePieceMethod],
  ['gpt2', bytePairMethod],
  ['gemma4', characterPairMethod],
]);

/**
 * The tokenizer in a GGUF file's metadata, interpreted as in llama.cpp: `llama` (SentencePiece), `gpt2` (byte-level
 * BPE) and `gemma4` (BPE over characters).
 * @throws InputError for a file without a vocabulary, and for unsupported models and word rules
 */
export function loadTokenizer(gguf: Gguf): Tokenizer {
  const { fields } = gguf;
  const vocabulary = readVocabulary(gguf);
  const { spellings, kinds } = vocabulary;
  const { segmenter, ...method } = methodOf(fields, vocabulary);
  const cut = specialTokens(vocabulary);
  const token = (name: string): number | undefined =>
    fields.optionalIndex(`${TOKENIZER_KEY}.${name}_token_id`, spellings.length);
  const [begin, end] = [token('bos'), token('eos')];
  const addsBegin = begin !== undefined && (fields.optionalBool(`${TOKENIZER_KEY}.add_bos_token`) ?? method.addsBegin);
  const addsEnd = end !== undefined && (fields.optionalBool(`${TOKENIZER_KEY}.add_eos_token`) ?? false);
  const stops = [end, token('eot'), token('eom'), ...endsOfTurns(vocabulary)].filter((id) => id !== undefined);
  const ends = new Set(stops);

  const encoded = function* (text: string, options: EncodeOptions = {}): Slices<number[]> {
    const { addSpecial = false, parseSpecial = false, guard } = options;
    const adds = addSpecial !== false && addsBegin;
    const tokens: number[] = adds ? [begin] : [];
    /** Lists of the fragments so far, joined at the end: one growing list would be copied again and again. */
    const parts: number[][] = [];
    let before: Fragment | undefined;
    for (const fragment of cut(text, parseSpecial)) {
      // A text that begins with the beginning token has it already.
      const isBegun = before === undefined && adds && fragment === begin;
      if (fragment === undefined) yield;
      else if (typeof fragment === 'number') {
        if (!isBegun) tokens.push(fragment);
      } else
        for (const _ of segmenter.segment(withoutGuard(fragment, guard), typeof before !== 'string', tokens)) {
          if (tokens.length >= PART_TOKENS) parts.push(tokens.splice(0));
          yield;
        }
      before = fragment ?? before;
    }
    if (addSpecial === true && addsEnd) tokens.push(end);
    return parts.length === 0 ? tokens : ([] as number[]).concat(...parts, tokens);
  };
  return {
    size: spellings.length,
    begin,
    end,
    addsBegin,
    stops: ends,
    fillMarks: fillMarks(fields, vocabulary),
    encode: (text, options) => atOnce(encoded(text, options)),
    encodeInTurns: (text, options) => inTurns(encoded(text, options)),
    *guarded(text, sign, kept) {
      const parts: string[] = [];
      for (const fragment of cut(text, true)) {
        if (fragment === undefined) yield;
        else if (typeof fragment === 'string') parts.push(fragment);
        else {
          const spelling = spellings.at(fragment) as string;
          const isUserDefined = kinds[fragment] === TOKEN_KIND.userDefined;
          const isHarmless = isUserDefined && !ends.has(fragment) && !TURN_MARK.test(spelling);
          if (isHarmless || kept.includes(spelling)) parts.push(spelling);
          else parts.push(`${spelling.slice(0, 1)}${sign}${spelling.slice(1)}`);
        }
      }
      return parts.join('');
    },
    spell: (id) => spellings.at(id) ?? '',
    bytesOf(id) {
      const spelling = spellings.at(id) ?? '';
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

function methodOf(fields: MetadataFields, vocabulary: Vocabulary): TokenizerMethod {
  const model = fields.text(`${TOKENIZER_KEY}.model`);
  const method = METHODS.get(model);
  if (method !== undefined) return method(fields, vocabulary);
  const supported = 'supported: llama (SentencePiece), gpt2 (byte-level BPE), gemma4 (BPE over characters)';
  return fields.fail(`${TOKENIZER_KEY}.model`, `${quoted(model)} is not supported; ${supported}`);
}

/** @throws InputError if the file has no vocabulary, or lists of different lengths */
function readVocabulary({ file, fields }: Gguf): Vocabulary {
  const spellings = fields.optionalTexts(`${TOKENIZER_KEY}.tokens`);
  if (spellings === undefined || spellings.length === 0)
    return fields.fail(`${TOKENIZER_KEY}.tokens`, 'is missing or empty; the file has no vocabulary');
  const given = fields.numbersPerToken(`${TOKENIZER_KEY}.token_type`, spellings.length);
  const kinds = Uint8Array.from(given ?? new Uint8Array(spellings.length).fill(TOKEN_KIND.normal));
  for (let token = 0; token < spellings.length; token++)
    if (ENDS_OF_TURNS.has(spellings.at(token) as string)) kinds[token] = TOKEN_KIND.control;
  const ordinary = textNumbers(spellings, ordinaryTokens(kinds));
  const unknown = fields.optionalIndex(`${TOKENIZER_KEY}.unknown_token_id`, spellings.length);
  return { file, spellings, kinds, ordinary, unknown };
}

/** The last first: of equal spellings, that token is used. */
function ordinaryTokens(kinds: ArrayLike<number>): Int32Array {
  const tokens = new Int32Array(kinds.length);
  let count = 0;
  for (let token = kinds.length - 1; token >= 0; token--) {
    if (kinds[token] === TOKEN_KIND.normal || kinds[token] === TOKEN_KIND.userDefined) tokens[count++] = token;
  }
  return tokens.subarray(0, count);
}

function endsOfTurns({ spellings, kinds }: Vocabulary): number[] {
  const found = new Map<string, number[]>();
  for (let token = 0; token < spellings.length; token++) {
    if (kinds[token] !== TOKEN_KIND.control) continue;
    const spelling = spellings.at(token) as string;
    if (ENDS_OF_TURNS.has(spelling) || ENDS_IF_CONTROL.has(spelling))
      found.set(spelling, [...(found.get(spelling) ?? []), token]);
  }
  if (ENDS_OF_PARTS.answers.every((answer) => found.has(answer))) found.delete(ENDS_OF_PARTS.part);
  return [...found.values()].flat();
}

function withoutGuard(text: string, guard: string | undefined): string {
  return guard === undefined ? text : text.replaceAll(guard, '');
}

/** A piece of a text: a special token, or text between such tokens, which is not empty. */
type Fragment = string | number;

/**
 * Cuts a text at special tokens: always at user-defined ones, at control tokens only with `parseSpecial`. `undefined`
 * is no fragment: it says that a slice of the text has been searched.
 */
type SpecialTokens = (text: string, parseSpecial: boolean) => Iterable<Fragment | undefined>;

/** Finds special tokens in one pass over the text: leftmost first, then longest. */
function specialTokens({ spellings, kinds }: Vocabulary): SpecialTokens {
  const always = new Map<string, number>();
  const all = new Map<string, number>();
  for (let token = 0; token < spellings.length; token++) {
    const kind = kinds[token];
    const userDefined = kind === TOKEN_KIND.userDefined;
    if (!userDefined && kind !== TOKEN_KIND.control && kind !== TOKEN_KIND.unknown) continue;
    const spelling = spellings.at(token) as string;
    if (spelling === '') continue;
    if (userDefined) always.set(spelling, token);
    all.set(spelling, token);
  }
  const [cutAlways, cutAll] = [always, all].map(cutter) as [Cutter, Cutter];
  return (text, parseSpecial) => (parseSpecial ? cutAll : cutAlways)(text);
}

type Cutter = (text: string) => Iterable<Fragment | undefined>;

function cutter(tokens: ReadonlyMap<string, number>): Cutter {
  /** Lengths of the tokens that begin with a character, longest first. */
  const lengths = new Map<number, number[]>();
  for (const spelling of tokens.keys()) {
    const own = lengths.get(spelling.charCodeAt(0)) ?? [];
    if (!own.includes(spelling.length)) own.push(spelling.length);
    lengths.set(
      spelling.charCodeAt(0),
      own.sort((a, b) => b - a),
    );
  }
  return function* (text) {
    let [start, steps] = [0, 0];
    for (let index = 0; index < text.length; index++) {
      if (++steps % SLICE === 0) yield undefined;
      const length = lengths.get(text.charCodeAt(index))?.find((own) => tokens.has(text.slice(index, index + own)));
      if (length === undefined) continue;
      if (index > start) yield text.slice(start, index);
      yield tokens.get(text.slice(index, index + length)) as number;
      start = index + length;
      index = start - 1;
    }
    if (start < text.length) yield text.slice(start);
  };
}
