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

const WHITE = '\\p{White_Space}';
/** Letters of words that begin with a capital or have none (Mistral's tekken). */
const CASED = (() => {
  const [upper, lower] = ['(?:(?=\\p{L})[^a-z])', '(?:(?=\\p{L})[^A-Z])'];
  const before = '[^\\r\\n\\p{L}\\p{N}]?';
  return `${before}${upper}*${lower}+|${before}${upper}+${lower}*`;
})();
/** What follows words and digits in rules since GPT-4's. */
const REST = (others: string, breaks: string): string =>
  ` ?${others}+${breaks}*|${WHITE}*[\\r\\n]+|${WHITE}+(?!\\P{White_Space})|${WHITE}+`;
const OTHER = '[^\\p{White_Space}\\p{L}\\p{N}]';

const TEKKEN = new RegExp(`${CASED}|\\p{N}|${REST(OTHER, '[\\r\\n/]')}`, 'gu');
/** Chinese, kana, and what DeepSeek's rules count with them. */
const EAST_ASIAN = /[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+/gu;
const DEEPSEEK_CODER = [/[\r\n]/gu, /\p{White_Space}?\p{L}+/gu, /\p{White_Space}?\p{P}+/gu, EAST_ASIAN, /\p{N}/gu];

const rules = (expressions: readonly RegExp[], more: Partial<Omit<WordRules, 'words'>> = {}): WordRules => ({
  ...{ words: (text) => cut(text, expressions), wholeWords: false, addsBegin: false },
  ...more,
});

const LLAMA = rules([LLAMA_3], { wholeWords: true, addsBegin: true });
const DEFAULT_CUTS = [/[\p{P}$+<=>^~|]+/gu, GPT_2, /\p{N}+/gu, /[0-9][0-9][0-9]/gu];

/**
 * Rules by `tokenizer.ggml.pre`, as in llama.cpp (llm_tokenizer_bpe). Files without the key have "default": GPT-2's
 * rule between rules for punctuation and digits.
 */
export const WORD_RULES: ReadonlyMap<string, WordRules> = new Map([
  ...['llama-bpe', 'llama3', 'llama-v3'].map((name) => [name, LLAMA] as const),
  ...['qwen2', 'deepseek-r1-qwen'].map((name) => [name, rules([QWEN_2])] as const),
  ['smollm', rules([/\p{N}/gu, GPT_2])],
  ['gpt-2', rules([GPT_2])],
  ['tekken', rules([TEKKEN], { wholeWords: true, addsBegin: true })],
  ['deepseek-coder', rules(DEEPSEEK_CODER)],
  ['default', rules(DEFAULT_CUTS)],
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
