/** Splits text into words for a byte-level BPE; merges stay within words. */
export interface WordRules {
  /** Pieces whose concatenation is the text, found as they are asked for. */
  words(text: string): Iterable<string>;
  /** Whether a word that is a token is used as it is, even if merges would give other tokens. */
  readonly wholeWords: boolean;
  /** Whether texts begin with the beginning-of-text token by default. */
  readonly addsBegin: boolean;
}

// llama.cpp's \s is Unicode's White_Space; JavaScript's own has U+FEFF too, and lacks U+0085.
const GPT_2 =
  /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+|\p{White_Space}+(?!\P{White_Space})/gu;
const LLAMA_3 =
  /'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\p{White_Space}\p{L}\p{N}]+[\r\n]*|\p{White_Space}*[\r\n]+|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+/gu;
const QWEN_2 =
  /'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\p{White_Space}\p{L}\p{N}]+[\r\n]*|\p{White_Space}*[\r\n]+|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+/gu;

const LLAMA: WordRules = { words: (text) => cut(text, [LLAMA_3]), wholeWords: true, addsBegin: true };
const QWEN: WordRules = { words: (text) => cut(text, [QWEN_2]), wholeWords: false, addsBegin: false };
const DEFAULT_CUTS = [/[\p{P}$+<=>^~|]+/gu, GPT_2, /\p{N}+/gu, /[0-9][0-9][0-9]/gu];

/**
 * Rules by `tokenizer.ggml.pre`, as in llama.cpp (llm_tokenizer_bpe). Files without the key have "default": GPT-2's
 * rule between rules for punctuation and digits.
 */
export const WORD_RULES: ReadonlyMap<string, WordRules> = new Map([
  ['llama-bpe', LLAMA],
  ['llama3', LLAMA],
  ['llama-v3', LLAMA],
  ['qwen2', QWEN],
  ['deepseek-r1-qwen', QWEN],
  ['gpt-2', { words: (text) => cut(text, [GPT_2]), wholeWords: false, addsBegin: false }],
  ['default', { words: (text) => cut(text, DEFAULT_CUTS), wholeWords: false, addsBegin: false }],
]);

/** Splits at the matches of each expression in turn; text between two matches is a piece too. */
function cut(text: string, expressions: readonly RegExp[]): Iterable<string> {
  return expressions.reduce<Iterable<string>>((pieces, expression) => cutEach(pieces, expression), [text]);
}

function* cutEach(pieces: Iterable<string>, expression: RegExp): Iterable<string> {
  for (const piece of pieces) {
    let end = 0;
    for (const match of piece.matchAll(expression)) {
      if (match.index > end) yield piece.slice(end, match.index);
      end = match.index + match[0].length;
      yield match[0];
    }
    if (end < piece.length) yield piece.slice(end);
  }
}
