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
/**
 * Letters of words that begin with a capital or have none, and what may be before them (tekken, GPT-4o). As in llama.cpp
 * (llama-vocab.cpp), only ASCII has a case. tiktoken's own rule asks for Unicode's categories and counts marks with letters,
 * so that some texts have other tokens there: "cŪ" is one word here and two there.
 */
const CASED = (suffix: string): string => {
  const [upper, lower] = ['(?:(?=\\p{L})[^a-z])', '(?:(?=\\p{L})[^A-Z])'];
  const before = '[^\\r\\n\\p{L}\\p{N}]?';
  return `${before}${upper}*${lower}+${suffix}|${before}${upper}+${lower}*${suffix}`;
};
const CONTRACTION = "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])";
/** White space with its line breaks, before a word, and at the end. */
const SPACES = `${WHITE}*[\\r\\n]+|${WHITE}+(?!\\P{White_Space})|${WHITE}+`;
/** Rule for what follows words and digits, since GPT-4's. */
const REST = (others: string, breaks: string): string => ` ?${others}+${breaks}*|${SPACES}`;
const OTHER = '[^\\p{White_Space}\\p{L}\\p{N}]';
const DIGITS = /\p{N}/gu;
const THREE_DIGITS = '\\p{N}{1,3}';

const TEKKEN = new RegExp(`${CASED('')}|\\p{N}|${REST(OTHER, '[\\r\\n/]')}`, 'gu');
const GPT_4O = new RegExp(`${CASED(`${CONTRACTION}?`)}|${THREE_DIGITS}|${REST(OTHER, '[\\r\\n/]')}`, 'gu');
const QWEN_35 = new RegExp(
  `${CONTRACTION}|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}|${REST('[^\\p{White_Space}\\p{L}\\p{M}\\p{N}]', '[\\r\\n]')}`,
  'gu',
);
/** As Llama 3's, but digits have rules of their own before it. */
const MINICPM = new RegExp(`${CONTRACTION}|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}+|${REST(OTHER, '[\\r\\n]')}`, 'gu');
/** Line breaks end no run of other signs, unlike in Qwen's rule. */
const SEED_CODER = new RegExp(
  `${CONTRACTION}|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\p{White_Space}\\p{L}\\p{N}\\r\\n]+|${SPACES}`,
  'gu',
);
/** One line break at a time. */
const BAILING = new RegExp(
  `${CONTRACTION}|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?${OTHER}+[\\r\\n]*|${WHITE}*[\\r\\n]|${WHITE}+(?!\\P{White_Space})|${WHITE}+`,
  'gu',
);

/** Unified ideographs with their extensions and compatible forms, which Kimi's rule keeps apart from other letters. */
const HAN =
  '\\u4e00-\\u9fff\\u3400-\\u4dbf\\uf900-\\ufaff\\u{20000}-\\u{2a6df}\\u{2a700}-\\u{2ebef}\\u{2f800}-\\u{2fa1f}';
const KIMI_K2 = new RegExp(
  `[${HAN}]+|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}--[${HAN}]]+${CONTRACTION}?|${THREE_DIGITS}|${REST(OTHER, '[\\r\\n]')}`,
  'gv',
);

/** Chinese, kana, and what DeepSeek's first rules count with them. */
const EAST_ASIAN = /(?:(?!\p{White_Space})[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff])+/gu;
const DEEPSEEK_CODER = [/[\r\n]/gu, /\p{White_Space}?\p{L}+/gu, /\p{White_Space}?\p{P}+/gu, EAST_ASIAN, DIGITS];
/** Letters with a case, as far as DeepSeek's first rule lists them. */
const LISTED_LETTERS = [
  'A-Za-zµÀ-ÖØ-öø-\\u01ba\\u01bc-\\u01bf\\u01c4-\\u0293\\u0295-\\u02af\\u0370-\\u0373\\u0376\\u0377\\u037b-\\u037d\\u037f',
  '\\u0386\\u0388-\\u038a\\u038c\\u038e-\\u03a1\\u03a3-\\u03f5\\u03f7-\\u0481\\u048a-\\u052f\\u0531-\\u0556\\u10a0-\\u10c5',
  '\\u13a0-\\u13f5\\u13f8-\\u13fd\\u1c90-\\u1cba\\u1cbd-\\u1cbf\\u1d00-\\u1d2b\\u1d6b-\\u1d77\\u1d79-\\u1d9a\\u1e00-\\u1f15',
  '\\u1f18-\\u1f1d\\u1f20-\\u1f45\\u1f48-\\u1f4d\\u1f50-\\u1f57\\u1f59\\u1f5b\\u1f5d\\u1f5f-\\u1f7d\\u1f80-\\u1fb4',
  '\\u1fb6-\\u1fbc\\u1fbe\\u1fc2-\\u1fc4\\u1fc6-\\u1fcc\\u1fd0-\\u1fd3\\u1fd6-\\u1fdb\\u1fe0-\\u1fec\\u1ff2-\\u1ff4',
  '\\u1ff6-\\u1ffc\\u2102\\u2107\\u210a-\\u2113\\u2115\\u2119-\\u211d\\u2124\\u2126\\u2128\\u212a-\\u212d\\u212f-\\u2134',
  '\\u2139\\u213c-\\u213f\\u2145-\\u2149\\u214e\\u2183\\u2184\\u2c00-\\u2c7b\\u2c7e-\\u2ce4\\u2ceb-\\u2cee\\u2cf2\\u2cf3',
  '\\ua640-\\ua66d\\ua680-\\ua69b\\ua722-\\ua76f\\ua771-\\ua787\\ua78b-\\ua78e\\uab70-\\uabbf\\ufb00-\\ufb06\\ufb13-\\ufb17',
  '\\uff21-\\uff3a\\uff41-\\uff5a\\u{10400}-\\u{1044f}\\u{104b0}-\\u{104d3}\\u{104d8}-\\u{104fb}\\u{10c80}-\\u{10cb2}',
  '\\u{10cc0}-\\u{10cf2}\\u{118a0}-\\u{118df}\\u{1e900}-\\u{1e943}',
].join('');
const DEEPSEEK_LLM = [
  /[\r\n]/gu,
  new RegExp(`${WHITE}?[${LISTED_LETTERS}]+`, 'gu'),
  /\p{White_Space}?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3001\u3002]+/gu,
  /\p{White_Space}+$/gu,
  EAST_ASIAN,
  /\p{N}+/gu,
];
const DEEPSEEK_3 = [
  /\p{N}{1,3}/gu,
  /[\u4e00-\u9fa5\u3040-\u30ff]+/gu,
  new RegExp(
    `[!-/:-@\\[-\`{-~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+|${REST('[\\p{P}\\p{S}]', '[\\r\\n]')}`,
    'gu',
  ),
];

const rules = (expressions: readonly RegExp[], more: Partial<Omit<WordRules, 'words'>> = {}): WordRules => ({
  ...{ words: (text) => cut(text, expressions), wholeWords: false, addsBegin: false },
  ...more,
});

const DEFAULT_CUTS = [/[\p{P}$+<=>^~|]+/gu, GPT_2, /\p{N}+/gu, /[0-9][0-9][0-9]/gu];

/** Names of rules, as files have them, that share one. */
const FAMILIES: readonly (readonly [readonly string[], WordRules])[] = [
  [
    ['llama-bpe', 'llama3', 'llama-v3', 'falcon3', 'falcon-h1', 'lfm2', 'pixtral', 'midm-2.0'],
    rules([LLAMA_3], { wholeWords: true, addsBegin: true }),
  ],
  [['chatglm-bpe', 'glm4', 'dbrx', 'smaug-bpe'], rules([LLAMA_3])],
  [['minicpm5'], rules([/\p{N}{1,3}/gu, MINICPM], { wholeWords: true })],
  [['qwen2', 'deepseek-r1-qwen', 'hunyuan', 'kormo', 'megrez', 'stablelm2', 'solar-open', 'grok-2'], rules([QWEN_2])],
  [['qwen35'], rules([QWEN_35])],
  [['smollm', 'starcoder', 'refact', 'command-r', 'codeshell', 'exaone', 'minerva-7b'], rules([DIGITS, GPT_2])],
  [
    [
      'gpt-2',
      'olmo',
      'granite-docling',
      'phi-2',
      'mpt',
      'jais',
      'trillion',
      'gigachat',
      'exaone4',
      'a.x-4.0',
      'mellum',
    ],
    rules([GPT_2]),
  ],
  [['gpt-4o', 'minimax-m2', 'llama4', 'kanana2'], rules([GPT_4O])],
  [['tekken'], rules([TEKKEN], { wholeWords: true, addsBegin: true })],
  [['kimi-k2'], rules([KIMI_K2])],
  [['deepseek-llm'], rules(DEEPSEEK_LLM)],
  [['deepseek-coder'], rules(DEEPSEEK_CODER)],
  [['deepseek-v3', 'hunyuan-dense', 'joyai-llm'], rules(DEEPSEEK_3)],
  [['falcon'], rules([/[\p{P}$+<=>^~|`]+/gu, GPT_2, /[0-9][0-9][0-9]/gu])],
  [['bailingmoe', 'bailingmoe2', 'llada-moe'], rules([BAILING])],
  [['seed-coder'], rules([SEED_CODER])],
  [['default'], rules(DEFAULT_CUTS)],
];

/**
 * Rules by `tokenizer.ggml.pre`, as in llama.cpp (llm_tokenizer_bpe). Files without the key have "default": GPT-2's
 * rule between rules for punctuation and digits.
 */
export const WORD_RULES: ReadonlyMap<string, WordRules> = new Map(
  FAMILIES.flatMap(([names, own]) => names.map((name) => [name, own] as const)),
);

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
